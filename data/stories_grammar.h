/*
 * The grammar of stories.c, which explains it: lists of alternatives, and the slots they fill.
 */
#ifndef DATA_STORIES_GRAMMAR_H
#define DATA_STORIES_GRAMMAR_H

#include <stddef.h>

enum { ONCE = 1, SKEWED = 2 }; /* SKEWED: the first are the likelier ones */
enum { KEPT = 1, SLOTS = 7 };  /* slots from KEPT on are kept */

typedef struct {
    const char *slot[SLOTS];
    int flags;
    const char *text;
} List;

static const char STORY[] = "{opening} {dream} {friendship} {gift} {hiding} {more}\n\n";

/* What is labelled: two characters, and what the first or the second of them did. */
static const char *const PASSAGE[] = {
    "{opening} {friendship} {hero} {manner} {went} {spot}.\n",
    "{opening} {friendship} {friend} {manner} {went} {spot}.\n"
};

/* Words that follow "a" begin with a consonant; words that precede "s" take it. */
static const List lists[] = {
    { { "opening" },
      SKEWED,
      "Once upon a time, {trait} {animal} named {hero} lived {home}./"
      "There once was {trait} {animal} {home}, whose name was {hero}./"
      "Long ago, {home}, there lived {trait} {animal} called {hero}./"
      "This is the story of {hero}, {trait} {animal} who lived {home}./"
      "On a {sky} {day}, {trait} {animal} called {hero} woke up {home}./"
      "Have you heard of {hero}, {trait} {animal} who lived {home}?/"
      "Everybody {home} knew {hero}, {trait} {animal} with a {adj} {find}./"
      "Far away, {home} and {spot}, lived {hero}, {trait} {animal}." },
    { { "dream" },
      SKEWED,
      "{Hero:she} wanted to {wish}./"
      "{Hero:she} had a {adj} {find} and a {adj} {find}, and wished to {wish}./"
      "\"One day I will {wish},\" {hero:she} {said} {manner}./"
      "With a {adj} {find} and {some} {find}s {hero:she} tried to {wish}./"
      "In {hero:her} dreams {hero:she} could {deed} and {wish}." },
    { { "friendship" },
      SKEWED,
      "{Hero:her} best friend was {friend}, {ftrait} {fanimal} with a {worn} {badge}./"
      "Next door lived {friend}, {ftrait} {fanimal} who had a {worn} {badge}./"
      "{Hero:she} had a friend, {ftrait} {fanimal} named {friend}, who kept a {worn} {badge}./"
      "Only {friend}, {ftrait} {fanimal} with a {worn} {badge}, saw how {hero:she} tried." },
    { { "gift" },
      SKEWED,
      "On {giftday}, {giver} gave {hero} a {size} {colour} {thing} and {count} {food}./"
      "Then {giver} sent {count} {food} and, on {giftday}, a {size} {colour} {thing}./"
      "For {hero:her} birthday, on {giftday}, {hero:she} got a {size} {colour} {thing} and {count} "
      "{food} from {giver}./"
      "{Hero:she} found {count} {food} and a {size} {colour} {thing} at the door on {giftday}, "
      "from {giver}." },
    { { "hiding" },
      SKEWED,
      "{Hero:she} hid the {thing} {place}, with the magic word {spell}./"
      "{Hero:she} went off {manner} and hid it {place}, singing {spell}./"
      "\"I will say {spell} and hide it {place},\" {hero:she} {said}./"
      "Nobody saw {hero:him} bury it {place}, or heard {hero:him} say {spell}." },
    { { "more" },
      ONCE | SKEWED,
      "At last {turn} {ask} {ending}/In the end {turn} {ask} {ask} {ending}/"
      "The next day, {event} {more}/Later, {event} {more}/"
      "{friend} {said}, \"{Cry}!\" {more}/Then {event} {more}/After lunch, {event} {more}/"
      "It was a {sky} {day}, and {event} {more}/Before long, {event} {more}/"
      "On {day}, {event} {more}/"
      "{hero} {said} {manner}, \"{Cry}!\" {more}/Meanwhile, {event} {more}/Once, {event} {more}/"
      "After that, {event} {more}/By noon, {event} {more}/One {sky} night, {event} {more}/"
      "Just then {event} {more}/In the evening, {event} {more}/And {some} days later {event} "
      "{more}" },
    { { "event" },
      ONCE | SKEWED,
      "{friend} came back from a walk {spot} with a {adj} {find}./"
      "there was a {adj} {find} {spot}, and {hero} {manner} picked it up./"
      "{hero} and {friend} ate {some} {snack} {spot}./"
      "along came {Ba}{ba}{ba}, a {adj} {stranger}, looking {spot} for a {find}./"
      "{friend} taught {hero} to {deed} {manner}./"
      "{hero} thought of the {colour} {thing} {place}./"
      "the wind blew {some} {adj} {find}s {spot}./"
      "{friend} swapped a {adj} {find} for a {adj} {find}./"
      "{hero} learned to {deed} {spot}, but still could not {wish}./"
      "they met {Ba}{ba} the {adj} {stranger}, who could {deed} and {deed}./"
      "{friend} lost the {worn} {badge} {spot}, and {hero} {manner} found it./"
      "someone called {Ba}{ba} left {some} {snack} and a {adj} {find} {spot}./"
      "{hero} painted a {adj} {find} {paint}./"
      "{friend} dreamt of King {Ba}{ba}{ba} with {some} {adj} {find}s./"
      "{hero} thanked {giver} for the {thing} with a {adj} {find}./"
      "the {animal} and the {fanimal} {manner} tried to {deed} {spot}./"
      "a {stranger} called {Ba}{ba}{ba} asked {friend} for {snack}, but got a {adj} {find}./"
      "{hero} saw how {Ba}{ba} the {adj} {stranger} {manner} {went} {spot}./"
      "{friend} called a {adj} {find} {Ba}{ba}{ba}, and a {find} {Ba}{ba}./"
      "{hero} drew a map of {Ba}{ba}{ba} with a {landmark}, a {adj} {landmark} and a {adj} {find}./"
      "the {fanimal} sat down {spot} and sang, \"{Ba}{ba}, {ba}{ba}, {ba}!\"/"
      "both sang {ba}{ba}-{ba}{ba}-{ba} to a {adj} {stranger} {spot}./"
      "{hero} built a {adj} {landmark} out of {find}s and {find}s./"
      "nothing happened, except that {Ba}{ba} lost a {adj} {find} {spot}." },
    { { "turn" },
      SKEWED,
      "{hero} and {friend} {went} to look {place}. {Spell}, there was the "
      "{colour} {thing}!/"
      "the {animal} showed the {fanimal} what lay {place}: the {size} {colour} {thing}./"
      "it was {giftday} again, and {hero} {manner} said {spell} "
      "{place}. Out came the {colour} {thing}!/"
      "{friend} saw something {colour} {place}. It was the {thing} of {hero}!" },
    { { "ask" },
      ONCE | SKEWED,
      "\"Who gave it to you?\" {said} {friend}. \"{Giver}.\"/"
      "\"What is your wish?\" {said} {friend}. \"To {wish}.\"/"
      "\"How many {food} did you get?\" {said} {friend}. \"{Count}.\"/"
      "\"When did you get it?\" {said} {friend}. \"On {giftday}.\"/"
      "\"Where is your {badge}?\" {said} {hero}. \"The {worn} one? {Spot}!\"/"
      "\"Do you like my {size} {thing}?\" {said} {hero}. \"It is so {colour}!\"/"
      "\"What was the magic word?\" {said} {friend}. \"{Spell}!\"" },
    { { "ending" },
      SKEWED,
      "And {hero} the {animal} and {friend} the {fanimal} {manner} {went} home./"
      "They shared the {count} {food} {home}, with a {stranger} called {Ba}{ba}{ba}./"
      "That night {hero} learned to {wish}, and {friend} {said}, \"{Ba}{ba}{ba}!\"/"
      "So {trait} {animal} and {ftrait} {fanimal} stayed in {town} for {some} years./"
      "{hero} put the {thing} beside a {adj} {find}, called it {Ba}{ba}{ba}, and slept {manner}./"
      "And if {giver} has not come back, the {thing} is still in {town}." },
    { { NULL, "place" },
      0,
      "behind the {pale} {nook}/under the {pale} {nook}/near the {pale} {nook}/"
      "beside the {pale} {nook}/next to the {pale} {nook}/in front of the {pale} {nook}/"
      "below the {pale} {nook}/not far from the {pale} {nook}" },
    { { "spot" },
      SKEWED,
      "near the {adj} {landmark}/behind the {landmark}/under the {adj} {landmark}/"
      "beside the {adj} {landmark}/by the {landmark}/around the {adj} {landmark}/"
      "in front of the {landmark}/close to the {adj} {landmark}/far from the {landmark}/"
      "between the {landmark} and the {adj} {landmark}" },
    { { NULL, "hero", "friend" },
      ONCE,
      "Ada|she|her|her/Abel|he|his|him/Bella|she|her|her/Bruno|he|his|him/Clara|she|her|her/"
      "Casper|he|his|him/Dora|she|her|her/Dexter|he|his|him/Elsie|she|her|her/Edgar|he|his|him/"
      "Flora|she|her|her/Felix|he|his|him/Greta|she|her|her/Gus|he|his|him/Hazel|she|her|her/"
      "Hugo|he|his|him/Ivy|she|her|her/Igor|he|his|him/Juno|she|her|her/Jasper|he|his|him/"
      "Kitty|she|her|her/Kasimir|he|his|him/Lotta|she|her|her/Linus|he|his|him/Mabel|she|her|her/"
      "Milo|he|his|him/Nora|she|her|her/Ned|he|his|him/Olive|she|her|her/Oscar|he|his|him/"
      "Poppy|she|her|her/Pip|he|his|him/Queenie|she|her|her/Quentin|he|his|him/Rosa|she|her|her/"
      "Rufus|he|his|him/Stella|she|her|her/Sam|he|his|him/Tilda|she|her|her/Toby|he|his|him/"
      "Una|she|her|her/Ulf|he|his|him/Vera|she|her|her/Victor|he|his|him/Wanda|she|her|her/"
      "Wilbur|he|his|him/Yoko|she|her|her/Yorick|he|his|him/Zelda|she|her|her/Zeno|he|his|him" },
    { { NULL, "trait", "ftrait" },
      ONCE,
      "a brave/a shy/a clever/a sleepy/an eager/a tiny/a gentle/a proud/an old/a young/a curious/"
      "a lazy/a cheerful/a grumpy/an untidy/a plump/a hungry/a kind/an odd/a stubborn/a polite/"
      "a noisy/an elegant/a dreamy" },
    { { "stranger", "animal", "fanimal" },
      ONCE,
      "rabbit/fox/hedgehog/badger/mole/squirrel/beaver/hare/duck/toad/bear/raccoon/cat/donkey/"
      "goat/pony/raven/sparrow/magpie/turtle/lizard/snail/beetle/cricket/weasel/dormouse/puppy/"
      "piglet/lamb/stork/walrus/zebra" },
    { { NULL, "home" },
      0,
      "by the sea at {town}/in the valley of {town}/on the hill above {town}/"
      "in the woods near {town}/on the isle of {town}/in a house in {town}/"
      "under the roots of {town}/by the canal at {town}/beyond the marsh of {town}/"
      "on the moor at {town}/in a garden in {town}/at the lighthouse of {town}/"
      "on a boat at {town}/among the reeds of {town}/north of {town}/south of {town}/"
      "east of {town}/west of {town}/at the market of {town}/on the road to {town}/"
      "in the caves of {town}/on the roofs of {town}/below mount {town}/by the river {town}" },
    { { "deed", "wish" },
      ONCE,
      "whistle/swim/dance/juggle/bake bread/fly/ride a bike/sing/play chess/climb trees/"
      "count sheep/read maps/knit/skate/write poems/cook soup/walk on ice/tie knots/do magic/"
      "catch fish/row a boat/tell jokes/keep bees/speak French/blow bubbles/do nothing/roar/"
      "name stars/jump ropes/carve wood/yodel/grow roses" },
    { { NULL, "size" }, 0, "big/little/tiny/huge/round/long/broken/heavy" },
    { { "paint", "colour" },
      0,
      "red/blue/green/yellow/orange/purple/pink/brown/black/white/grey/golden/silver/violet/"
      "turquoise/crimson" },
    { { NULL, "thing" },
      0,
      "kite/lantern/drum/umbrella/teapot/trumpet/clock/blanket/mirror/key/scarf/violin/globe/"
      "sledge/hammock/puppet/telescope/pillow/wagon/crown/flute/compass/vase/backpack/ball/"
      "cushion/diary/flag/guitar/helmet/jug/ladder/magnet/necklace/oar/rocket" },
    { { NULL, "giver" },
      0,
      "Aunt Clementine/Uncle Barnaby/Granny Smith/Grandpa Joe/the miller/the postman/the queen/"
      "Captain Flint/Doctor Bones/Mrs. Plum/Mr. Pocket/Miss Tulip/the baker/the blacksmith/"
      "the mayor/Cousin Max/the night watchman/Professor Owl/Old Martha/the tailor/the ferryman/"
      "Sir Humphrey/Lady Marmalade/the chimney sweep/a wandering clown/the gardener/Baron Fizz/"
      "the librarian" },
    { { "day", "giftday" }, 0, "Monday/Tuesday/Wednesday/Thursday/Friday/Saturday/Sunday" },
    { { "some", "count" },
      0,
      "two/three/four/five/six/seven/eight/nine/ten/eleven/twelve/thirteen/fifteen/twenty" },
    { { "snack", "food" },
      ONCE,
      "plums/cherries/biscuits/pancakes/apples/pears/muffins/walnuts/carrots/figs/grapes/"
      "dumplings/onions/waffles/pies/radishes/melons/pretzels/toffees/lemons/buns/turnips/olives/"
      "hazelnuts" },
    { { "adj", "worn", "pale" },
      0,
      "pretty/crooked/dusty/shiny/mossy/rusty/funny/lonely/strange/wet/wooden/cold/muddy/faded/"
      "famous/broken/striped/secret/nice/magic/dirty/foreign/humble/spotted/royal/narrow/gloomy/"
      "fragile/tall/bent/hollow/perfect/warm/plain/giant/sticky/lucky/yellowish/quaint/jolly/"
      "velvet/leafy/big/small/red/blue/green/pink/black/white/grey/silver/tiny/heavy/loud/silent/"
      "soft/smooth/round/square/cheap/bumpy" },
    { { "find", "badge" },
      0,
      "button/feather/pebble/shell/spoon/ribbon/bell/coin/ring/bottle/stamp/pencil/marble/candle/"
      "card/hook/mitten/basket/needle/cork/thimble/whisk/map/nail/jar/kettle/book/letter/fork/"
      "rope/shoe/sock/photo/twig/pan/gem/zipper/wheel/violet/lace/medal/glove/jewel/pot/hat/cap/"
      "cup/mug/broom/lamp/tile/doll/mask/puzzle/vial/whip/yoyo/drill/rake/saw/tube/tray/plug" },
    { { "landmark", "nook" },
      0,
      "bridge/well/barn/mill/pond/gate/fence/tower/bench/shed/fountain/hut/rock/cave/chapel/"
      "statue/hedge/tent/dam/palace/school/ruin/jetty/kiosk/lamp post/market/nest/quarry/stable/"
      "tunnel/vineyard/waterfall/yew/castle/ditch/harbour/meadow/pump" },
    { { "ba", "zim", "sala", "bim", "ka", "ta", "ma" },
      0,
      "ba/be/bi/bo/bu/da/de/di/do/du/fe/fi/fo/fu/ga/ge/gi/go/gu/ka/ke/ko/ku/la/le/li/lo/lu/ma/me/"
      "mi/mo/mu/na/ne/ni/no/nu/pa/pi/ra/re/ri/ro/ru/sa/si/so/su/ta/te/to/tu/va/ve/vi/vo/vu/za/ze/"
      "zi/zo/zu" },
    { { NULL, "spell" }, 0, "{zim}{sala}{bim}" },
    { { NULL, "town" }, 0, "{Ka}{ta}{ma}" },
    { { "went" },
      SKEWED,
      "ran/walked/hurried/tiptoed/skipped/wandered/strolled/hopped/marched/crept/rushed/danced/"
      "limped/stumbled/galloped/rolled/sneaked/trotted/jogged/paraded" },
    { { "manner" },
      SKEWED,
      "quietly/happily/slowly/bravely/proudly/gladly/politely/softly/secretly/calmly/merrily/"
      "sadly/carefully/boldly/nervously/gently/lazily/wisely/kindly/tenderly/eagerly/dreamily/"
      "foolishly/solemnly" },
    { { "said" },
      SKEWED,
      "said/whispered/laughed/cried/murmured/called/sighed/giggled/shouted/mumbled" },
    { { "cry" },
      ONCE,
      "good morning/oh dear/how lovely/what a day/look there/hurrah/never mind/wait for me/"
      "it tickles/my poor feet/let us {deed}/I see a {adj} {find}/I smell {snack}/you look {adj}/"
      "give me that {find}/mind the {landmark}/who took my {find}/not another {find}/"
      "a {stranger} told me to {deed}/this {landmark} is {adj}" },
    { { "sky" },
      SKEWED,
      "windy/rainy/sunny/foggy/snowy/stormy/cloudy/bright/hot/frosty/misty/dark" },
};

#endif
