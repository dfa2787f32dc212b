#include <algorithm>

#include "subworkflows/content_pipeline/language.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

constexpr std::string_view kEnglish =
    "a about above across after again against ago all almost alone along already also although always am among an and "
    "another any anybody anyone anything are aren't around as at away back be became because become been before "
    "behind being below between both but by came can can't cannot come could couldn't did didn't do does doesn't "
    "doing don't done down during each either else enough even ever every everyone everything few find first for from "
    "further gave get gets getting give given gives go goes going gone good got had hadn't has hasn't have haven't "
    "having he he'd he'll he's her here hers herself him himself his how however i i'd i'll i'm i've if in instead "
    "into is isn't it it'd it'll it's its itself just keep keeps kept know last later least less let let's like "
    "likely little long look lot made make makes making many may maybe me mean might more most much must my myself "
    "near need needs neither never new next no nobody none nor not nothing now of off often on once one ones only "
    "onto or other others otherwise our ours ourselves out over own per perhaps put quite rather really right said "
    "same say says see seem seems seen several shall she she'd she'll she's should shouldn't since so some someone "
    "something sometimes soon still such take takes taken than that that's the their theirs them themselves then "
    "there there's therefore these they they'd they'll they're they've thing things this those though three through "
    "thus to together too took toward towards two under until up upon us use used using usually very want was wasn't "
    "way we we'd we'll we're we've well went were weren't what what's whatever when where whether which while who "
    "whole whom whose why will with within without won't would wouldn't yes yet three four five six seven eight nine "
    "ten twelve twenty thirty hundred thousand you you'd you'll you're you've your yours yourself yourselves";

constexpr std::string_view kGerman =
    "aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei beim "
    "bin bis bist da dabei dadurch dafür dagegen daher damit danach dann daran darauf darf darum das dass dazu dein "
    "deine dem den denn der deren des dessen deshalb die dies diese diesem diesen dieser dieses doch dort du durch "
    "eher ein eine einem einen einer eines einige einigen einmal er erst es etwa etwas euch euer für ganz gar gegen "
    "genug gibt gut habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer "
    "in ins ist ja jede jedem jeden jeder jedes jedoch jetzt kann kannst kein keine keinem keinen keiner können "
    "könnte lassen lässt machen macht man manche mehr mein meine meist meisten mich mir mit muss müssen nach nachdem "
    "neben nicht nichts noch nun nur ob oder oft ohne paar schon sehr sein seine seinem seinen seiner seit selbst "
    "sich sie sind so sobald sogar solche soll sollen sollte sondern sonst sowie statt über um und uns unser unsere "
    "unter viel viele vielleicht vom von vor während war waren warum was weg weil weiter welche welchem welchen "
    "welcher welches wenig wenige weniger wenn wer werden wie wieder will wir wird wo wollen worden wurde wurden zu "
    "zum zur zwar zwischen zwei drei vier fünf sechs sieben acht neun zehn";

constexpr std::string_view kFrench =
    "à ai ainsi alors après assez au aucun aucune aussi autre autres aux avant avec avez avoir avons beaucoup bien "
    "car ce ceci cela celle celles celui ces cet cette ceux chaque chez comme comment dans de depuis des déjà donc "
    "dont du elle elles en encore entre est et étaient était été être eu eux faire fait faut fois font il ils je "
    "jusque la là le les leur leurs lors lui ma mais me même mêmes mes mettre mieux moins mon n'est ne ni nos notre "
    "nous on ont ou où par parce pas pendant peu peut peuvent plus plusieurs plutôt pour pourquoi puis quand que quel "
    "quelle quelles quelque quelques quels qui quoi sa sans se sera ses si son sont sous souvent sur ta tant te tes "
    "toi ton toujours tous tout toute toutes très trop tu un une vers voici voilà vos votre vous y c'est d'abord d'un "
    "d'une l'on qu'elle qu'il qu'on qu'un qu'une s'il deux trois quatre cinq six sept huit neuf dix vingt cent mille";

constexpr std::string_view kSpanish =
    "a además al algo algún alguna algunas alguno algunos antes aquel aquella aquellas aquellos aquí así aun aún "
    "aunque bajo bien cada casi como cómo con contra cual cuáles cuando cuándo de del desde después donde dónde dos "
    "durante e el él ella ellas ellos en entonces entre era eran eres es esa esas ese eso esos esta está están estas "
    "este esto estos fue fueron ha había hace hacer hacia han hasta hay la las le les lo los luego más me menos mi "
    "mientras mis mismo misma mucho mucha muchos muchas muy nada ni no nos nosotros nuestra nuestro nunca o os otra "
    "otras otro otros para pero poco por porque pues puede pueden que qué quien quién se sea según ser si sí siempre "
    "sin sino sobre solo sólo son su sus también tan tanto te tiene tienen toda todas todavía todo todos tras tu tus "
    "un una unas uno dos tres cuatro cinco seis siete ocho nueve diez unos usted vez veces y ya yo";

std::unordered_set<std::string_view> set_of(std::string_view list) {
    std::unordered_set<std::string_view> set;
    for (std::size_t at = 0; at < list.size();) {
        const auto end = std::min(list.find(' ', at), list.size());
        set.insert(list.substr(at, end - at));
        at = end + 1;
    }
    return set;
}

}

const std::unordered_set<std::string_view>& stop_words(Language language) {
    static const auto english = set_of(kEnglish);
    static const auto german = set_of(kGerman);
    static const auto french = set_of(kFrench);
    static const auto spanish = set_of(kSpanish);
    switch (language) {
        case Language::german:
            return german;
        case Language::french:
            return french;
        case Language::spanish:
            return spanish;
        case Language::english:
            break;
    }
    return english;
}

}
