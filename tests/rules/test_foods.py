"""What food is made of, asked of the table."""

from moechat.rules import foods

HOLDS = (
    ("a slice of carrot cake", "walnuts"), ("fish n chips", "gluten"), ("a flat white", "lactose"), ("rendang", "coconut"),
    ("caesar salad", "fish"), ("the seafood platter", "prawns"), ("a pint", "alcohol"), ("naan bread", "coeliac"),
    ("some brocolli", "warfarin"), ("strawbery jam", "strawberries"), ("marshmallows", "vegetarian"), ("pepperoni", "halal"),
    ("korma", "cow's milk"), ("头孢", "酒"), ("杨枝甘露", "芒果"), ("蟹黄包", "贝类"), ("驴打滚", "花生"), ("腌笃鲜", "高血压"),
    ("醉虾", "头孢"), ("部队锅", "辣"),
)  # fmt: skip
HOLDS_NOT = (
    ("an oat milk latte", "milk"), ("gluten-free toast", "gluten"), ("pizza without cheese", "dairy"), ("vegan burger", "dairy"),
    ("coconut water", "nuts"), ("aubergine bake", "egg"), ("a doughnut", "peanuts"), ("rice noodles", "wheat"),
    ("lactose-free milk", "lactose"), ("my friend", "fried food"), ("a better finger", "ginger"), ("halal chicken", "halal"),
    ("salt", "cheese"), ("豆奶", "牛奶"), ("奶奶", "牛奶"), ("章鱼小丸子", "虾"), ("米线", "小麦"),
    ("里面", "小麦"), ("无糖酸奶", "糖"),
)  # fmt: skip


def test_a_dish_holds_what_it_is_made_of_and_nothing_else() -> None:
    wrong = [pair for pair in HOLDS if not foods.touches(*pair)]
    assert wrong + [pair for pair in HOLDS_NOT if foods.touches(*pair)] == []


def test_a_state_is_no_food_and_a_word_that_only_looks_like_food_is_none() -> None:
    assert foods.words("pregnant, on statins, in the beer garden with a butterfly and a kipper") == ["kipper"]


def test_a_text_besides_its_foods_keeps_people_and_animals() -> None:
    assert foods.besides("may my dog have a hot dog").split() == ["may", "my", "dog", "have", "a"]
    assert foods.besides("奶奶能喝双皮奶吗").split() == ["奶奶能喝", "吗"]
