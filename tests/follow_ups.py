"""Sixty follow-ups: what was told once, the reply that named its matter, and the message that leans on that reply.

One line is ``what was told => reply => follow-up``. They were written before the search looked at what a message follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class FollowUp(NamedTuple):
    told: str
    reply: str
    text: str


ZH = """
小夏从阳台摔下来，左腿打了石膏 => 你是说小夏吧，她一直很调皮 => 后来她怎么样了？
老周把面馆盘给了他外甥 => 老周那家店我还记得 => 他为什么不开了？
豆豆在兽医那里查出对鸡肉过敏 => 豆豆最近挑食啊 => 它怎么了来着？
阿楠考上了厦门的研究生 => 阿楠真是努力 => 她去哪了？
那把吉他是在旧货市场花四百块淘的 => 你的吉他音色真好 => 那是哪来的？
外婆的抽屉钥匙藏在米缸底下 => 外婆真会藏东西 => 她放哪了？
我把毕业照夹在《边城》里 => 毕业照是该留着 => 我夹在哪了？
社团的帐篷被小段借走了没还 => 帐篷啊，露营总要用到 => 被谁拿走了？
陆师傅修表只收现金 => 陆师傅手艺是老一辈的 => 他收多少？
我和可可是在合唱团认识的 => 可可唱歌很好听吧 => 我们怎么认识的？
楼下的桂花树去年被台风刮断了 => 那棵桂花树真可惜 => 什么时候的事？
堂哥的婚礼定在了青岛 => 堂哥终于要办喜事了 => 在哪儿办？
我的第一份工作是在邮局分拣信件 => 第一份工作总是难忘 => 做什么的？
小米粥我加了南瓜才好喝 => 小米粥养胃 => 要加什么？
许老师退休以后开始学木雕 => 许老师闲不住的 => 他现在干嘛？
那条围巾是妹妹织了两个月的 => 围巾很暖和吧 => 谁织的？
我们在竹溪迷路，走到半夜才出来 => 竹溪的山路不好走 => 结果呢？
琴房的密码改成了校庆日 => 琴房又能进了 => 改成什么了？
胖橘被隔壁奶奶领养了 => 胖橘那么乖 => 它现在在谁家？
我的驾照科目二考了三次 => 驾照不容易啊 => 考了几次？
阿泽辞职去了云南开客栈 => 阿泽总是说走就走 => 然后呢？
奶茶店的招牌是杨枝甘露 => 那家奶茶店排队很长 => 招牌是什么？
我爸的血压药换成了半片 => 叔叔的药要按时吃 => 换成多少了？
小诗把头发剪短捐了出去 => 小诗那头长发 => 她为什么剪了？
读书会每个月在槐树下的书店办 => 读书会我也想听听 => 一般在哪里？
邻居的小提琴每晚拉到十点 => 那位邻居真有毅力 => 拉到几点？
我给绿萝取名叫大王 => 绿萝好养 => 我叫它什么？
那次爬山我们忘了带水 => 爬山最怕准备不足 => 那次忘了什么？
程程在机场丢了护照 => 程程总丢三落四 => 她丢了什么？
爷爷年轻时是渔船上的厨子 => 爷爷的故事多 => 他以前做什么？
"""
EN = """
Marlow fell off the shed roof and broke his wrist => Marlow never sits still, does he => What happened to him after that?
Aunt Petra sold the bakery to her neighbour => Aunt Petra's bakery smelled wonderful => Who did she sell it to?
Biscuit is allergic to chicken, the vet said => Biscuit is such a picky eater => What can't he eat?
Ines got into the conservatory in Lyon => Ines practised so hard => Where did she go?
I found the typewriter at a flea market for forty euros => That typewriter is a beauty => Where did I get it?
Grandpa hides the spare key under the beehive => Grandpa and his hiding places => Where does he keep it?
I keep the concert ticket inside my copy of Emma => A concert ticket is worth keeping => Where did I put it?
Dylan borrowed the tent and never gave it back => The tent would be handy now => Who has it?
Mr Okafor only repairs clocks on Saturdays => Mr Okafor is a patient man => When does he do it?
Lena and I met at a pottery class => Lena sounds lovely => How did we meet?
The cherry tree in the yard was struck by lightning => I liked that cherry tree => What happened to it?
My cousin's wedding will be in Galway => Your cousin must be excited => Where is it?
My first job was sorting letters at a depot => First jobs stay with us => What did I do there?
The secret of my chili is dark chocolate => Your chili is famous => What's in it?
Mrs Lindqvist took up wood carving after she retired => Mrs Lindqvist was your favourite teacher => What does she do now?
My sister knitted the green scarf in two months => The green scarf suits you => Who made it?
We got lost in the Harz and walked until midnight => The Harz can be tricky => And then?
The code of the rehearsal room is the founding year => The rehearsal room is open again => What is it?
Pumpkin the cat was adopted by the lady next door => Pumpkin was so gentle => Where is she now?
It took me three tries to pass the driving test => Driving tests are nerve-racking => How many times did I take it?
Theo quit and opened a hostel in Porto => Theo always follows his heart => And what did he do?
The cafe's specialty is cardamom buns => That cafe is always crowded => What are they known for?
Dad's blood pressure pills were cut to half a tablet => Your dad should take his pills on time => How much is it now?
Nora cut her hair and donated it => Nora had such long hair => Why did she do that?
The book club meets under the old lighthouse => A book club sounds cosy => Where is that?
The neighbour plays the cello until ten every night => That neighbour is persistent => How late does he play?
I named my fern Captain => Ferns like shade => What did I call it?
On the glacier hike we forgot the water => A glacier hike needs preparation => What did we forget that time?
Sasha lost her passport at the airport => Sasha loses everything => What did she lose?
My grandfather was a cook on a fishing boat => Your grandfather has many stories => What was he back then?
"""


def follow_ups(lines: str) -> Iterator[FollowUp]:
    for line in lines.strip().splitlines():
        yield FollowUp(*line.split(" => "))
