"""Times both ways: what is told, what is to come, and what was added with it; the notation is that of ``when_table``.

The spans were read off the rules and judged, so they guard more than they measure.
"""

from __future__ import annotations

BLOCKS = [
    (
        "en both ways",
        "november",
        "recall",
        """
what are we doing on New Year's Eve? => 2026-12-31
I'm seeing the dentist on Friday => 2026-11-27
what did we do between the 3rd and the 9th of October? => 2026-10-03..2026-10-09
what happened on Boxing Day last year => 2025-12-26
the summer before last => 2025-06-01..2025-08-31
what did I say in the second quarter => 2026-04-01..2026-06-30
in the nineties I lived in Leeds => 1990-01-01..1999-12-31
back in the 80s => 1980-01-01..1989-12-31
during spring break => 2026-03
on 10/12 we met => 2026-10-12
what did I tell you on 3/4? => 2026-03-04
three Sundays ago => 2026-11-08
the weekend before last => 2026-11-14..2026-11-15
the back end of May => 2026-05-21..2026-05-31
a fortnight ago => 2026-11-10
last fortnight => 2026-11-10..now
in a fortnight's time => 2026-12-08
the week before last => 2026-11-09..2026-11-15
the night before last => 2026-11-22T18..2026-11-22
the day before yesterday => 2026-11-22
a couple of Saturdays ago => 2026-11-14
the other week => 2026-10-20..2026-11-23
the other night => 2026-11-17..2026-11-23
earlier this week => 2026-11-23..now
later this week => now..2026-11-29
mid-March => 2026-03-11..2026-03-20
at the start of the year => 2026-01-01..2026-03-31
towards the end of summer => 2026-08
halfway through August => 2026-08-11..2026-08-20
over Easter => 2026-04-05
last Christmas => 2025-12-25
are we having turkey at Christmas? => 2026-12-25
on Halloween => 2026-10-31
on Bonfire Night => 2026-11-05
on Valentine's Day => 2026-02-14
on Mother's Day => 2026-05-10
last thing last night => 2026-11-23T18..2026-11-23
at lunchtime => 2026-11-24T12..2026-11-24T13
at noon yesterday => 2026-11-23T12..2026-11-23T13
half past six yesterday evening => 2026-11-23T18:30
quarter to nine this morning => 2026-11-24T08:45
at 7ish last night => 2026-11-23T19
Monday just gone => 2026-11-23
this Friday just gone => 2026-11-20
this coming Friday => 2026-11-27
this past weekend => 2026-11-21..2026-11-22
Sunday last => 2026-11-22
Friday gone => 2026-11-20
two Christmases ago => 2024-12-25
this time last week => 2026-11-17
the end of last week => 2026-11-20..2026-11-22
before Christmas => 2025-12-11..2025-12-24
after New Year => 2026-01-02..2026-01-15
in the run-up to Christmas => 2025-12-11..2025-12-24
in early 2024 => 2024-01-01..2024-03-31
late last year => 2025-11-01..2025-12-31
at the tail end of last month => 2026-10-21..2026-10-31
for the past three weeks => 2026-11-03..now
these past few days => 2026-11-21..now
over the last couple of weeks => 2026-11-10..now
six months ago today => 2026-05-24
a year ago today => 2025-11-24
on the 5th => 2026-11-05
on the fifth of last month => 2026-10-05
the third week of September => 2026-09-15..2026-09-21
the first Monday in May => 2026-05-04
last time we spoke => 2026-10-25..now
are you coming to mum's on sunday? => 2026-11-29
who's cooking on christmas day => 2026-12-25
do we have anything on friday => 2026-11-27
what time does my flight leave on saturday => 2026-11-28
when do i see the doctor on monday => 2026-11-30
i'm so excited for halloween => 2027-10-31
can't wait for easter => 2027-03-28
let's go to the beach on saturday => 2026-11-28
could you remind me on thursday to call the bank => 2026-11-26
i booked the dentist for friday => 2026-11-27
they've moved my interview to monday => 2026-11-30
my sister's getting married in june => 2027-06
im off to rome on friday => 2026-11-27
were going to my nans at easter => 2027-03-28
the exam is on the 12th => 2026-12-12
what should i wear on friday => 2026-11-27
i hope it snows at christmas => 2026-12-25
mum has surgery on friday => 2026-11-27
the gym opens on monday => 2026-11-30
what are my plans for the weekend => 2026-11-28..2026-11-29
what did you say we're doing on friday? => 2026-11-27
have i got anything on monday => 2026-11-30
did you have fun on friday => 2026-11-20
what did i read on sunday => 2026-11-22
do you remember easter => 2026-04-05
tell me about halloween => 2026-10-31
i saw sam on friday => 2026-11-20
she told me on monday that she's pregnant => 2026-11-23
i've been ill since tuesday => 2026-11-24..now
i put the tree up on sunday => 2026-11-22
we were meant to meet on saturday => 2026-11-21
who did i meet in june => 2026-06
what was that film we watched on sunday => 2026-11-22
where was i on the 3rd => 2026-11-03
what happened at new year => 2026-01-01
how was my birthday weekend at easter => 2026-04-05
""",
    ),
    (
        "en both ways",
        "november",
        "writing",
        """
I'm seeing the dentist on Friday => 2026-11-27
i've got an interview thursday => 2026-11-26
my interview is on thursday => 2026-11-26
i start my new job on monday => 2026-11-30
see you saturday => 2026-11-28
dentist tomorrow at 3 => 2026-11-25T15
we're off to rome next spring => 2027-03-01..2027-05-31
Tuesday week I have an exam => 2026-12-01
a week on Friday we move house => 2026-12-04
a week today I fly out => 2026-12-01
Friday fortnight is the wedding => 2026-12-11
later this week I'm seeing Tom => now..2026-11-29
what shall we do for Christmas? => 2026-12-25
next Pancake Day => 2027-02-09
gym on friday => 2026-11-27
dentist thurs 3pm => 2026-11-26T15
got an exam on friday => 2026-11-27
my exam's been moved to the 3rd => 2026-12-03
working late on thursday => 2026-11-26
term starts on the 7th of january => 2027-01-07
tom's birthday party is on saturday => 2026-11-28
we might go camping in august => 2027-08
lovely walk on sunday => 2026-11-22
had a row with my sister on friday => 2026-11-20
couldn't sleep on sunday night => 2026-11-22T18..2026-11-22
my dad died in march => 2026-03
i quit my job on monday => 2026-11-23
the party on saturday was great => 2026-11-21
i was going to call you on sunday => 2026-11-22
felt awful on thursday => 2026-11-19
went to mum's on sunday, she made a roast => 2026-11-22
my nan passed away on friday => 2026-11-20
i've loved this week => 2026-11-23..2026-11-29
the cat threw up on monday => 2026-11-23
i ate too much on thanksgiving => 2025-11-27
we split up in september => 2026-09
i came off the tablets in may => 2026-05
""",
    ),
    (
        "zh both ways",
        "november",
        "recall",
        """
平安夜我们吃什么好 => 2026-12-24
冬至要吃什么 => 2026-12-22
国庆去哪儿好呢 => 2027-10-01
中秋怎么过 => 2027-09-15
周五你有空吗 => 2026-11-27
周六一起看电影吧 => 2026-11-28
我周五去看牙医 => 2026-11-27
周日我妈来看我 => 2026-11-29
下个月考驾照 => 2026-12
元旦放几天假 => 2027-01-01
周末干嘛 => 2026-11-28..2026-11-29
周末想去爬山 => 2026-11-28..2026-11-29
端午回不回家 => 2027-06-09
圣诞节送她什么礼物好呢 => 2026-12-25
清明要回老家扫墓 => 2027-04-05
我周三体检，帮我记着 => 2026-11-25
国庆我们去了哪 => 2026-10-01
中秋吃的什么馅的 => 2026-09-25
国庆我们去哪玩的 => 2026-10-01
周五我跟你说了什么 => 2026-11-20
周六看的电影叫啥 => 2026-11-21
周日我妈来看我了 => 2026-11-22
五月我在哪工作 => 2026-05
后儿我去 => 2026-11-26
大后儿 => 2026-11-27
后天早上 => 2026-11-26T06..2026-11-26T09
头年我还在老家 => 2025-01-01..2025-12-31
头年春天 => 2025-03-01..2025-05-31
寒假快结束的时候 => 2026-02-23..2026-03-06
寒假末 => 2026-02-23..2026-03-06
暑假开头 => 2026-07-01..2026-07-20
大前天凌晨 => 2026-11-21..2026-11-21T04
上上个月底 => 2026-09-21..2026-09-30
上上月底 => 2026-09-21..2026-09-30
礼拜天 => 2026-11-22
上礼拜天 => 2026-11-22
这礼拜天去爬山 => 2026-11-29
下下周三 => 2026-12-09
下下个礼拜二要复查 => 2026-12-08
前儿个 => 2026-11-22
昨儿晚上 => 2026-11-23T18..2026-11-23
今儿早上 => 2026-11-24T06..2026-11-24T09
明儿下午三点 => 2026-11-25T15
上月中 => 2026-10-11..2026-10-20
本月底 => 2026-11-21..2026-11-30
年底前 => now..2026-12-31
上半年 => 2026-01-01..2026-06-30
去年下半年 => 2025-07-01..2025-12-31
前年这时候 => 2024-11-21..2024-11-27
上上周末 => 2026-11-14..2026-11-15
半个月后 => 2026-12-06..2026-12-12
仨月前 => 2026-08
俩礼拜前 => 2026-11-10
前俩天 => 2026-11-22..2026-11-23
前两礼拜 => 2026-11-10..2026-11-23
一个来月前 => 2026-10
十来天前 => 2026-11-14
大半个月前 => 2026-10-25..2026-11-09
两周后的周五 => 2026-12-11
后半夜三点 => 2026-11-24T03
今天傍晚 => 2026-11-24T17..2026-11-24T18
昨天下班后 => 2026-11-23
月底 => 2026-11-21..2026-11-30
上旬 => 2026-11-01..2026-11-10
九十年代 => 1990-01-01..1999-12-31
八几年 => 1980-01-01..1989-12-31
零几年的时候 => 2000-01-01..2009-12-31
春节前一周 => 2026-02-10..2026-02-16
高考那年 => 2026-01-01..2026-12-31
高考前 => 2027-05-24..2027-06-06
上个礼拜 => 2026-11-16..2026-11-22
这个礼拜五 => 2026-11-27
下礼拜一 => 2026-11-30
这周内 => 2026-11-23..2026-11-29
年初三 => 2026-02-19
大年初二 => 2026-02-18
腊月二十三 => 2026-02-10
正月十五 => 2026-03-03
五月初五 => 2026-06-19
立冬那天 => 2026-11-07
农历八月十五 => 2026-09-25
2024年3月 => 2024-03
24年3月 => 2024-03
去年3月8号 => 2025-03-08
双十二 => 2025-12-12
刚过去的周末 => 2026-11-21..2026-11-22
上上个星期 => 2026-11-09..2026-11-15
""",
    ),
    (
        "zh both ways",
        "november",
        "writing",
        """
周三体检 => 2026-11-25
约了周五看牙 => 2026-11-27
票买好了，国庆去成都 => 2027-10-01
周六同学聚会 => 2026-11-28
我妈周日过来 => 2026-11-29
15号交房租 => 2026-12-15
面试改到周四了 => 2026-11-26
周一开始上班 => 2026-11-30
六月结婚 => 2027-06
平安夜和他去吃火锅 => 2026-12-24
元宵回家陪奶奶 => 2027-02-20
年后要去深圳 => 2027-02-13..2027-03-14
周六和同学吃了火锅 => 2026-11-21
周日去爬山了，累死 => 2026-11-22
周五没睡好 => 2026-11-20
上班第一天就是三月 => 2026-03
七月我们分手了 => 2026-07
我爸是三月走的 => 2026-03
周三被老板骂了 => 2026-11-18
周末在家躺了两天 => 2026-11-21..2026-11-22
端午那会儿回了趟家 => 2026-06-19
除夕晚上吵了一架 => 2026-02-16T18..2026-02-16
周四刚做完手术 => 2026-11-19
中秋我一个人过的 => 2026-09-25
""",
    ),
]
