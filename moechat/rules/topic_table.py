"""Everyday domains and the words that they are recognised by: the table of ``topics``.

domain | cues of the domain | leaf: cues of the leaf | ... The names of domains and leaves are cues, too. A word with a leading !
is no cue; it hides the cues inside it (吃 in 吃惊). An indented line continues the line before. A cue that stands twice belongs
to the first place.
"""

ZH = """
饮食 | 吃 喝 饭 菜 餐厅 饭馆 食堂 外卖 早饭 早餐 午饭 午餐 晚饭 晚餐 夜宵 好吃 难吃 口味 味道 聚餐 请客 食材
   胃口 零食 香菜 辣 !吃惊 !吃力 !吃醋 !菜鸟 | 火锅: 毛肚 鸳鸯锅 麻辣烫 串串 | 咖啡: 拿铁 美式 咖啡馆 咖啡豆 |
   奶茶: 珍珠奶茶 | 烧烤: 烤肉 烤串 撸串 | 甜点: 蛋糕 甜品 冰淇淋 雪糕 巧克力 面包 饼干 烘焙 桂花糕 | 面食: 面条
   拉面 饺子 包子 馄饨 米粉 米线 螺蛳粉 | 水果: 西瓜 草莓 苹果 芒果 榴莲 葡萄 | 酒: 喝酒 啤酒 红酒 白酒 酒吧
   喝醉 醉了 | 茶: 喝茶 茶叶 绿茶 红茶 | 日料: 寿司 刺身 | 做饭: 下厨 炒菜 煲汤 菜谱 红烧肉
工作 | 上班 下班 公司 单位 职场 事业 办公室 业绩 | 加班: 996 通宵加班 | 同事: 老板 领导 上司 客户 | 求职: 面试
   简历 offer 跳槽 入职 辞职 离职 失业 裁员 找工作 被裁 实习 | 会议: 开会 汇报 周会 例会 | 项目: 需求 上线 代码
   bug 甲方 方案 | 出差 | 薪水: 工资 奖金 加薪 升职 涨薪 | 创业
学习 | 学校 上课 老师 大学 高中 教授 图书馆 自习 学期 专业课 | 考试: 考研 期末 成绩 复习 挂科 四级 六级 雅思
   托福 高考 考上 考公 | 论文: 答辩 导师 毕业 开题 | 课程: 网课 作业 选课 | 外语: 英语 日语 法语 德语 韩语 单词
   口语 | 编程: python 算法 写程序
家人 | 爸妈 父母 家里人 亲戚 老家 | 妈妈: 母亲 我妈 老妈 | 爸爸: 父亲 我爸 老爸 | 孩子: 女儿 儿子 宝宝 育儿 |
   兄弟姐妹: 哥哥 弟弟 姐姐 妹妹 表哥 表姐 表弟 表妹 堂哥 堂姐 | 祖辈: 爷爷 奶奶 外婆 外公 姥姥 姥爷
朋友 | 闺蜜 哥们 同学 邻居 | 室友: 舍友 宿舍 | 聚会: 派对 同学会
感情 | 对象 喜欢上 心动 | 恋爱: 男朋友 女朋友 男友 女友 约会 表白 暗恋 相亲 脱单 | 婚姻: 结婚 婚礼 老公 老婆
   丈夫 妻子 求婚 订婚 离婚 | 分手: 前任 前男友 前女友 失恋 | 争吵: 吵架 冷战 和好
心情 | 难过 伤心 生气 孤独 委屈 崩溃 心累 哭了 情绪 | 焦虑: 紧张 担心 害怕 | 压力: 压力大 | 开心: 高兴 兴奋 激动
   幸福 | 抑郁: 抑郁症 心理咨询
健康 | 身体 病 疼 体检报告 | 睡眠: 失眠 熬夜 睡不着 做梦 噩梦 早睡 睡过头 午睡 | 生病: 感冒 发烧 咳嗽 头疼 头痛
   胃疼 肚子疼 过敏 腰疼 | 就医: 医院 医生 体检 手术 住院 吃药 牙医 拔牙 疫苗 看病 | 减肥: 体重 节食 瘦了 胖了
宠物 | 兽医 | 猫: 猫咪 小猫 橘猫 猫粮 撸猫 !猫头鹰 | 狗: 小狗 遛狗 金毛 柯基 狗狗 狗粮 | 鸟: 鹦鹉 | 兔子 | 鱼:
   金鱼 鱼缸 | 仓鼠
旅行 | 旅游 出游 景点 机票 酒店 护照 签证 民宿 行李 自驾 度假 旅途 飞机 | 海边: 大海 沙滩 海滩 看海 | 露营: 帐篷
   | 古城: 古镇 | 出国
娱乐 | 追星 直播 综艺 | 电影: 电影院 影院 看片 | 剧集: 电视剧 追剧 动漫 动画 番剧 美剧 韩剧 | 游戏: 打游戏 手游
   原神 通关 steam switch 王者荣耀 | 音乐: 歌 唱歌 演唱会 吉他 钢琴 ktv 专辑 乐队 音乐节 听歌 | 阅读: 看书 小说
   读书 书店 漫画 散文 | 摄影: 拍照 照片 相机 拍了 | 画画: 绘画 画展 水彩 素描 | 手工: 织 陶艺 拼图 乐高
运动 | 锻炼 | 跑步: 马拉松 晨跑 夜跑 | 健身: 健身房 撸铁 | 瑜伽: 普拉提 | 篮球: 打球 | 足球: 世界杯 踢球 |
   羽毛球 | 网球 | 乒乓球 | 游泳: 泳池 | 骑行: 骑车 自行车 单车 | 登山: 爬山 徒步 | 滑雪: 滑冰 | 舞蹈: 跳舞 街舞
天气 | 气温 降温 太阳 晴天 阴天 刮风 彩虹 | 雨: 下雨 暴雨 大雨 雨伞 台风 | 雪: 下雪 大雪 | 炎热: 好热 高温 中暑
   | 寒冷: 好冷 冻
购物 | 买 逛街 淘宝 京东 快递 打折 优惠 双十一 退货 超市 | 衣服: 裙子 鞋 鞋子 外套 围巾 裤子 包包 | 数码: 手机
   电脑 耳机 键盘 平板 笔记本 显卡 | 化妆品: 口红 护肤 面膜 香水
居住 | 房子 小区 物业 停电 停水 | 搬家: 搬到 搬去 新家 | 租房: 房东 房租 合租 | 家务: 打扫 洗衣 收拾 洗碗 |
   装修: 家具 沙发 | 买房: 房贷 | 植物: 养花 多肉 阳台 种花
出行 | 堵车 迟到 | 地铁 | 公交: 公交车 | 开车: 驾照 打车 停车 车祸 买车 | 火车: 高铁 动车
财务 | 钱 存款 钱包 | 理财: 股票 基金 投资 亏了 | 借贷: 贷款 借钱 信用卡 | 省钱: 存钱 记账
节日 | 过节 放假 礼物 | 生日 | 春节: 过年 除夕 年夜饭 红包 | 中秋: 月饼 | 圣诞: 圣诞节 | 纪念日 | 国庆: 国庆节
"""

EN = """
food | eat meal restaurant dish lunch dinner breakfast snack taste delicious takeout recipe hungry spicy
   cilantro | hotpot: "hot pot" | coffee: latte espresso cafe | tea: boba | baking: cake bread cookie bake
   pastry | dessert: chocolate "ice cream" | drinks: beer wine whisky pub drunk cocktail | fruit: apple mango
   strawberry | sushi | pizza | barbecue: bbq grill | cooking: cook kitchen soup
work | office company job career shift | overtime | colleagues: colleague coworker boss manager client |
   "job hunting": interview resume offer fired hired quit layoff "laid off" internship | meetings: meeting
   presentation | projects: project deadline code bug launch | pay: salary raise bonus promoted promotion |
   "business trip"
study | school class teacher college university campus student library semester lecture professor | exams: exam
   test grade midterm final quiz | thesis: dissertation graduate graduation paper | homework: assignment essay |
   languages: spanish french japanese chinese german vocabulary | programming: python algorithm
family | parents relative cousin hometown home-cooked | mother: mom mum mother | father: dad father | children:
   child kid daughter son baby toddler | siblings: brother sister sibling | grandparents: grandma grandpa
   grandmother grandfather | aunts: aunt uncle nephew niece
friends | friend neighbour neighbor buddy | roommate: flatmate housemate | party: reunion hangout
love | crush flirt | dating: boyfriend girlfriend date tinder | marriage: husband wife wedding married engaged
   divorce proposal anniversary | breakup: "broke up" ex
mood | sad angry lonely upset cry feeling | anxiety: anxious nervous worried panic | stress: stressed burnout
   overwhelmed | quarrel: fight argue argument | joy: happy excited thrilled | depression: depressed therapy therapist
health | sick ill pain healthy | sleep: insomnia asleep nightmare nap dream tired | illness: cold flu fever
   cough headache allergy migraine | doctor: hospital surgery dentist clinic medicine vaccine checkup | weight:
   diet calories
pets | pet vet | cat: kitten | dog: puppy leash | bird: parrot | rabbit: bunny | fish: aquarium | hamster
travel | trip flight hotel passport visa airport luggage vacation holiday tour tourist sightseeing | beach: sea
   ocean seaside | camping: tent camp campfire | "road trip" | abroad
leisure | hobby livestream podcast | film: movie cinema | series: netflix anime episode show | games: game
   gaming steam nintendo playstation chess | music: song concert guitar piano band sing album violin karaoke |
   reading: book novel library read comic | photography: photo camera | art: paint painting draw sketch museum
   exhibition | crafts: knit pottery puzzle lego sew
sports | exercise sport | running: run marathon jog | gym: workout weights | yoga: pilates | basketball |
   football: soccer | tennis | badminton | swimming: swim pool | cycling: bike bicycle cycle ride | hiking: hike
   climb mountain trail | skiing: ski snowboard skate | dance: dancing ballet
weather | sunny cloudy wind temperature forecast | rain: storm umbrella typhoon rainy | snow: snowy blizzard |
   heat: hot heatwave | cold-weather: freezing
shopping | buy bought shop mall store discount sale order amazon delivery | clothes: dress shoes jacket scarf
   shirt coat jeans | gadgets: phone laptop headphones keyboard tablet | cosmetics: lipstick perfume skincare
home | house apartment flat | moving: moved relocate | renting: rent landlord lease | chores: clean laundry tidy
   vacuum | furniture: sofa renovate | garden: plant gardening flowers
transport | commute traffic late | subway: metro tube | bus | driving: drive car licence license parking |
   train: railway
money | cash budget wallet | investing: stock invest crypto | debt: loan mortgage "credit card" | saving:
   savings
holidays | gift present celebrate | birthday | christmas | "new year" | thanksgiving | halloween | easter
"""
