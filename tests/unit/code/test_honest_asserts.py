# ruff: noqa: E501 - programs and tests stand here as they are sent
"""Test code of every common kind passes with a right submission and fails with a wrong one, through the judge."""

from __future__ import annotations

from typing import Any

import pytest

POINT = """
class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __eq__(self, other):
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)
    def __hash__(self):
        return hash((self.x, self.y))
    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)
    def __mul__(self, k):
        return Point(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __lt__(self, other):
        return (self.x, self.y) < (other.x, other.y)
    def __repr__(self):
        return f"Point({self.x}, {self.y})"
    def __iter__(self):
        yield self.x
        yield self.y
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return (self.x, self.y)[i]
    def __contains__(self, v):
        return v in (self.x, self.y)
    def norm(self):
        return Point(abs(self.x), abs(self.y))
"""

CASES = {
    "plain asserts": ("def add(a, b):\n    return a + b", "a + b", "assert add(1, 2) == 3\nassert add('a', 'b') == 'ab'"),
    "check of a candidate": (
        "def inc(x):\n    return x + 1",
        "x + 1",
        "METADATA = {}\ndef check(candidate):\n    assert candidate(1) == 2\n",
    ),
    "a class and its operators": (
        POINT,
        "self.x + other.x, self.y + other.y",
        "p = Point(1, 2)\nassert p == Point(1, 2) and p != Point(2, 1)\nassert p + p == Point(2, 4)\nassert 2 * p == p * 2\n"
        "assert list(p) == [1, 2] and len(p) == 2 and p[0] == 1 and 2 in p and 7 not in p\nassert repr(p) == 'Point(1, 2)'\n"
        "assert sorted([Point(3, 0), p]) == [p, Point(3, 0)]\nassert isinstance(p, Point) and type(p) is Point\n"
        "assert len({p, Point(1, 2)}) == 1\nassert hasattr(p, 'x') and not hasattr(p, 'z')\np.x = 9\nassert p.x == 9\n"
        "assert Point(-1, 2).norm() * 2 == Point(2, 4)\nassert sum([p, p], start=Point(0, 0)) == Point(18, 4)",
    ),
    "class methods, properties, statics and inheritance": (
        "class Base:\n    kind = 'base'\n    @classmethod\n    def make(cls):\n        return cls()\n    @staticmethod\n"
        "    def twice(x):\n        return 2 * x\n    @property\n    def size(self):\n        return 3\nclass Sub(Base):\n    kind = 'sub'\n",
        "2 * x",
        "assert isinstance(Sub.make(), Base) and issubclass(Sub, Base) and Sub.kind == 'sub'\nassert Base.twice(4) == 8\n"
        "assert Sub().size == 3\nassert type(Sub()).__name__ == 'Sub'",
    ),
    "exceptions of its own": (
        "class Oops(ValueError):\n    def __init__(self, code):\n        super().__init__(f'code {code}')\n        self.code = code\n"
        "def f(x):\n    if x < 0:\n        raise Oops(7)\n    if x == 0:\n        raise KeyError('zero')\n    return x\n",
        "Oops(7)",
        "import pytest\ndef test_own():\n    with pytest.raises(Oops) as info:\n        f(-1)\n    assert info.value.code == 7\n"
        "    assert 'code 7' in str(info.value)\ndef test_base():\n    with pytest.raises(ValueError, match='code'):\n        f(-1)\n"
        "def test_builtin():\n    with pytest.raises(KeyError):\n        f(0)\ndef test_fine():\n    assert f(3) == 3\n",
    ),
    "arguments changed in place": (
        "def clean(xs, d, s):\n    xs[:] = [x for x in xs if x]\n    d['n'] = len(xs)\n    s.add('x')\n    return xs",
        "if x]",
        "a, d, s = [0, 1, 0, 2], {}, set()\nr = clean(a, d, s)\nassert a == [1, 2]\nassert d == {'n': 2} and s == {'x'} and r is a",
    ),
    "nested arguments changed in place": (
        "def zero(m):\n    for row in m:\n        row[0] = 0\n    m.append([7])",
        "row[0] = 0",
        "m = [[1, 2], [3, 4]]\nfirst = m[0]\nzero(m)\nassert m == [[0, 2], [0, 4], [7]]\nassert first is m[0]",
    ),
    "callbacks": (
        "def apply(f, xs):\n    return [f(x) for x in xs]",
        "f(x)",
        "assert apply(lambda x: x * x, [1, 2, 3]) == [1, 4, 9]\nassert apply(str, [1]) == ['1']\nassert apply(abs, [-2]) == [2]\n"
        "seen = []\napply(seen.append, [5, 6])\nassert seen == [5, 6]",
    ),
    "a decorator of its own": (
        "import functools\ndef memo(f):\n    cache = {}\n    @functools.wraps(f)\n    def w(*a):\n        if a not in cache:\n"
        "            w.calls += 1\n            cache[a] = f(*a)\n        return cache[a]\n    w.calls = 0\n    return w",
        "w.calls += 1",
        "@memo\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nassert fib(30) == 832040\nassert fib.calls == 31\n"
        "assert fib.__name__ == 'fib'",
    ),
    "an exception that the test's callback raises": (
        "def safe(f, default):\n    try:\n        return f()\n    except ZeroDivisionError:\n        return default",
        "return default",
        "assert safe(lambda: 1 / 0, 5) == 5\nassert safe(lambda: 3, 5) == 3",
    ),
    "an object of the test": (
        "def total(basket):\n    return sum(item.price * item.count for item in basket)",
        "item.price * item.count",
        "class Item:\n    def __init__(self, price, count):\n        self.price, self.count = price, count\n"
        "assert total([Item(2, 3), Item(1, 1)]) == 7",
    ),
    "generators": (
        "def count(n):\n    i = 0\n    while True:\n        yield i\n        i += n",
        "i += n",
        "from itertools import islice\ng = count(3)\nassert next(g) == 0 and next(g) == 3\nassert list(islice(g, 2)) == [6, 9]\n"
        "from collections.abc import Iterator\nassert isinstance(g, Iterator)",
    ),
    "an iterator of the test": (
        "def pairs(it):\n    it = iter(it)\n    return list(zip(it, it))",
        "zip(it, it)",
        "assert pairs(iter([1, 2, 3, 4])) == [(1, 2), (3, 4)]\nassert pairs(x for x in 'abcd') == [('a', 'b'), ('c', 'd')]",
    ),
    "context managers": (
        "class Log:\n    def __init__(self):\n        self.lines = []\n    def __enter__(self):\n        self.lines.append('in')\n"
        "        return self\n    def __exit__(self, kind, error, tb):\n        self.lines.append(kind.__name__ if kind else 'out')\n"
        "        return kind is ValueError\n",
        "return kind is ValueError",
        "log = Log()\nwith log as l:\n    assert l is log\nassert log.lines == ['in', 'out']\nwith log:\n    raise ValueError('x')\n"
        "assert log.lines[-1] == 'ValueError'",
    ),
    "named tuples, enums and dataclasses": (
        "from collections import namedtuple\nfrom dataclasses import dataclass\nfrom enum import Enum\nP = namedtuple('P', 'x y')\n"
        "class Color(Enum):\n    RED = 1\n    BLUE = 2\n@dataclass\nclass D:\n    a: int\n    b: str = 'b'\ndef p():\n    return P(1, 2)\n"
        "def c():\n    return Color.RED\n",
        "return P(1, 2)",
        "assert p() == (1, 2) and p().x == 1 and p()._asdict() == {'x': 1, 'y': 2}\nx, y = p()\nassert (x, y) == (1, 2)\n"
        "assert c() == Color.RED and c() is Color.RED and c() != Color.BLUE\nassert Color.RED.value == 1 and Color['RED'].name == 'RED'\n"
        "assert D(1) == D(1, 'b') and D(1) != D(2)\nassert [m.value for m in Color] == [1, 2]",
    ),
    "values of the standard library": (
        "from collections import Counter, defaultdict, deque, OrderedDict\nfrom decimal import Decimal\nfrom fractions import Fraction\n"
        "import datetime\ndef values():\n    d = defaultdict(list)\n    d['k'].append(1)\n    return [Counter('aab'), d, deque([1, 2]), "
        "OrderedDict(a=1), Decimal('1.10'), Fraction(1, 3), datetime.date(2024, 2, 29), 1 + 2j, b'x', {1, 2}, frozenset([3]), range(3)]\n",
        "Counter('aab')",
        "from collections import *\nfrom decimal import Decimal\nfrom fractions import Fraction\nimport datetime\n"
        "assert values() == [{'a': 2, 'b': 1}, {'k': [1]}, deque([1, 2]), {'a': 1}, Decimal('1.1'), Fraction(1, 3), "
        "datetime.date(2024, 2, 29), 1 + 2j, b'x', {1, 2}, {3}, range(3)]\nassert values()[0].most_common(1) == [('a', 2)]",
    ),
    "special numbers and large values": (
        "import math\ndef v(k):\n    return {'nan': math.nan, 'inf': math.inf, 'big': 7 ** 9000, 'neg': -2 ** 70, 'long': 'x' * 100000, "
        "'list': list(range(100000)), 'bad': '\\ud800'}[k]",
        "7 ** 9000",
        "import math\nassert math.isnan(v('nan')) and v('inf') == math.inf\nassert v('big') == 7 ** 9000 and v('neg') == -2 ** 70\n"
        "assert len(v('long')) == 100000 and sum(v('list')) == 4999950000 and v('bad') == '\\ud800'",
    ),
    "unittest": (
        "class Stack:\n    def __init__(self):\n        self.items = []\n    def push(self, x):\n        self.items.append(x)\n"
        "    def pop(self):\n        return self.items.pop()\n",
        "self.items.append(x)",
        "import unittest\nclass TestStack(unittest.TestCase):\n    def setUp(self):\n        self.s = Stack()\n"
        "    def test_push(self):\n        self.s.push(3)\n        self.assertEqual(self.s.pop(), 3)\n"
        "    def test_empty(self):\n        with self.assertRaises(IndexError):\n            self.s.pop()\n"
        "    def test_many(self):\n        for n in (1, 2):\n            with self.subTest(n=n):\n                self.s.push(n)\n"
        "                self.assertIn(n, self.s.items)\nif __name__ == '__main__':\n    unittest.main()\n",
    ),
    "pytest with parameters, fixtures and classes": (
        "def gcd(a, b):\n    while b:\n        a, b = b, a % b\n    return a",
        "return a",
        "import pytest\n@pytest.fixture\ndef numbers():\n    yield [12, 18]\n@pytest.fixture(params=[1, 2])\ndef k(request):\n"
        "    return request.param\n@pytest.mark.parametrize('a, b, want', [(12, 18, 6), pytest.param(7, 5, 1, id='coprime')])\n"
        "def test_gcd(a, b, want):\n    assert gcd(a, b) == want\ndef test_fixture(numbers, k):\n    a, b = numbers\n"
        "    assert gcd(a * k, b * k) == 6 * k\nclass TestMore:\n    def setup_method(self):\n        self.n = 5\n"
        "    def test_self(self):\n        assert gcd(self.n, 10) == 5\n    @pytest.mark.parametrize('x', [3, 4])\n"
        "    def test_zero(self, x):\n        assert gcd(x, 0) == pytest.approx(x)\n@pytest.mark.skip(reason='later')\n"
        "def test_later():\n    assert False\n",
    ),
    "the submission imported as a module": (
        "LIMIT = 3\ndef double(x):\n    return 2 * x",
        "2 * x",
        "from solution import double, LIMIT\nimport solution as s\nfrom your_code import *\ndef test_it():\n"
        "    assert double(LIMIT) == 6 and s.double(1) == 2",
    ),
    "coroutines": (
        "import asyncio\nasync def later(x):\n    await asyncio.sleep(0)\n    return x + 1\n",
        "x + 1",
        "import asyncio\nassert asyncio.run(later(1)) == 2\nasync def both():\n    return await asyncio.gather(later(1), later(2))\n"
        "assert asyncio.run(both()) == [2, 3]",
    ),
    "what is printed": (
        "def hello(name):\n    print('hello', name)",
        "print('hello', name)",
        "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    hello('you')\n"
        "assert out.getvalue() == 'hello you\\n'\ndef test_capsys(capsys):\n    hello('me')\n    assert capsys.readouterr().out == 'hello me\\n'",
    ),
    "what is read": (
        "def ask():\n    return int(input('? ')) + 1",
        "+ 1",
        "def test_ask(monkeypatch):\n    monkeypatch.setattr('builtins.input', lambda prompt='': '41')\n    assert ask() == 42",
    ),
    "a method of class Solution called as a function": (
        "class Solution:\n    def twoSum(self, nums, target):\n        return [nums.index(x) for x in nums if target - x in nums]",
        "target - x in nums",
        "def check(candidate):\n    assert candidate([2, 7], 9) == [0, 1]\n",
    ),
    "closures and bound methods": (
        "def counter():\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n        return n\n    return step\n",
        "n += 1",
        "a, b = counter(), counter()\nassert [a(), a(), b()] == [1, 2, 1]\nassert callable(a)",
    ),
    "a mutable subclass compared with plain data": (
        "class History(list):\n    def last(self):\n        return self[-1]\ndef h():\n    return History([1, 2])",
        "[1, 2]",
        "assert h() == [1, 2] and h().last() == 2 and len(h()) == 2 and 2 in h() and list(h()) == [1, 2]",
    ),
    "objects of built-in kinds": (
        "def m(xs):\n    return map(abs, xs)\ndef z(a, b):\n    return zip(a, b)\ndef g(n):\n    yield from range(n)\n"
        "def o():\n    return object()\ndef k(d):\n    return d.keys()\ndef r(s):\n    import re\n    return re.match('a+', s)",
        "map(abs, xs)",
        "import types\nassert list(m([-1, 2])) == [1, 2] and isinstance(m([]), map)\nassert dict(z('ab', [1, 2])) == {'a': 1, 'b': 2}\n"
        "assert isinstance(g(2), types.GeneratorType) and sum(g(4)) == 6\nassert o() is not None and o() != o()\n"
        "assert sorted(k({'b': 1, 'a': 2})) == ['a', 'b'] and isinstance(m, types.FunctionType)\n"
        "assert r('aab').group() == 'aa' and r('b') is None",
    ),
    "attributes of classes and of the module": (
        "class Config:\n    debug = False\n    seen = 0\nLEVEL = 1\ndef helper():\n    return 1\ndef f():\n    return (Config.debug, LEVEL, helper())",
        "helper())",
        "import solution\nfrom unittest.mock import patch\nConfig.debug = True\nsolution.LEVEL = 5\nConfig.seen += 1\n"
        "assert f() == (True, 5, 1) and Config.seen == 1\nwith patch('solution.helper', return_value=9):\n    assert f() == (True, 5, 9)\n"
        "assert f() == (True, 5, 1)",
    ),
    "random numbers from one seed": (
        "import random\ndef f():\n    return random.random()",
        "random.random()",
        "import random\nrandom.seed(7)\nwant = random.random()\nrandom.seed(7)\nassert f() == want",
    ),
    "a mock of print and of input": (
        "def f():\n    print('hello ' + input())",
        "print('hello ' + input())",
        "from unittest.mock import patch\ndef test_f():\n    with patch('builtins.input', return_value='you'), patch('builtins.print') as p:\n"
        "        f()\n    p.assert_called_once_with('hello you')",
    ),
    "a mock as an argument": (
        "def notify(service, name):\n    if service.ready():\n        service.send(name, times=2)\n        return service.count",
        "times=2",
        "from unittest.mock import Mock\ns = Mock()\ns.ready.return_value = True\ns.count = 3\nassert notify(s, 'x') == 3\n"
        "s.send.assert_called_once_with('x', times=2)",
    ),
    "asserts under a main guard only": (
        "def f(x):\n    return x + 1",
        "x + 1",
        "if __name__ == '__main__':\n    assert f(1) == 2\n    print('fine')",
    ),
    "a failing assertion in a callback": (
        "def f(g):\n    return g(1)",
        "g(1)",
        "def g(x):\n    assert x == 1, 'one'\n    return 5\nassert f(g) == 5",
    ),
    "objects compared with plain data": (
        "class Money:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, o):\n"
        "        return self.v == (o.v if isinstance(o, Money) else o)\n    def __lt__(self, o):\n        return self.v < o\n"
        "    def __add__(self, o):\n        return Money(self.v + (o.v if isinstance(o, Money) else o))\n"
        "class Tree:\n    def __init__(self, *xs):\n        self.xs = xs\n    def __contains__(self, x):\n        return x in self.xs\n",
        "self.v == (",
        "assert Money(5) == 5 and Money(5) != 6 and Money(5) < 7\nassert Money(2) + Money(3) == 5 and Money(2) + 3 == Money(5)\n"
        "t = Tree(1, 3)\nassert 3 in t and 4 not in t and t.xs == (1, 3)",
    ),
    "a built-in type in the place of a function": ("f = int", "int", "from solution import f\nassert f('1') == 1"),
    "objects that return themselves by rule": (
        "class Total:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, o):\n        return self.v == o\n"
        "    def __iadd__(self, o):\n        self.v += o\n        return self\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, *e):\n        self.v = 0\n    def add(self, o):\n        self.v += o\n        return self\n",
        "self.v += o",
        "t = Total(2)\nt += 3\nassert t == 5\nwith t as u:\n    assert u == 5 and u is t\nassert t.add(1).add(2) is t and t.v == 3",
    ),
    "calls in a chain": (
        "class Trie:\n    def __init__(self):\n        self.words = set()\n    def insert(self, w):\n        self.words.add(w)\n"
        "        return self\n    def __contains__(self, w):\n        return w in self.words\n    def __eq__(self, o):\n"
        "        return self.words == o\n",
        "self.words.add(w)",
        "t = Trie()\nt.insert('a')\nt.insert('b').insert('c')\nassert 'a' in t and 'c' in t and t == {'a', 'b', 'c'}\n"
        "def test_t():\n    u = Trie()\n    u.insert('a')\n    assert 'a' in u and 'b' not in u and u.insert('b') is u",
    ),
    "fixtures of a class stay in it": (
        "class Box:\n    def __init__(self, v):\n        self.v = v\ndef add(a, b):\n    return a + b",
        "a + b",
        "import pytest\ndef test_add():\n    assert add(1, 2) == 3\nclass TestBox:\n    @pytest.fixture(autouse=True)\n"
        "    def box(self):\n        self.box = Box(3)\n    def test_box(self):\n        assert add(self.box.v, 1) == 4",
    ),
    "an exception inside a context manager made by contextlib": (
        "from contextlib import contextmanager\n@contextmanager\ndef opened(x):\n    try:\n        yield x\n    except KeyError:\n        pass",
        "except KeyError",
        "with opened(3) as x:\n    assert x == 3\nwith opened(4):\n    raise KeyError('k')\ntry:\n    with opened(5):\n"
        "        raise ValueError('v')\nexcept ValueError as error:\n    assert str(error) == 'v'\nelse:\n    assert False",
    ),
    "a class of operators alone": (
        "class V:\n    def __init__(self, *a):\n        self.a = a\n    def __add__(self, o):\n"
        "        return V(*(x + y for x, y in zip(self.a, o.a)))\n    def __mul__(self, k):\n        return V(*(x * k for x in self.a))\n"
        "    def __eq__(self, o):\n        return self.a == (o.a if isinstance(o, V) else o)\n",
        "x + y",
        "a = V(1, 2)\nb = V(3, 4)\nassert a + b == V(4, 6)\nassert a * 2 == V(2, 4)\nassert a == (1, 2)",
    ),
    "nodes that the submission links": (
        "def link(nodes):\n    for a, b in zip(nodes, nodes[1:]):\n        a.next = b\n    return nodes[0]",
        "zip(nodes, nodes[1:])",
        "class N:\n    def __init__(self, v):\n        self.v, self.next = v, None\na, b = N(1), N(2)\nassert link([a, b]) is a\n"
        "assert a.next is b and a.next.v == 2 and b.next is None",
    ),
    "copies and text of objects": (
        "class Box:\n    def __init__(self, v):\n        self.v = v\n    def __str__(self):\n        return f'<{self.v}>'\n",
        "self.v = v",
        "import copy\nb = Box([1])\nc = copy.deepcopy(b)\nassert c.v == [1] and c is not b\nassert str(b) == '<[1]>' and f'{b}' == '<[1]>'\n"
        "assert vars(b) == {'v': [1]}",
    ),
}
ENTRY_POINTS = {"check of a candidate": "inc", "a method of class Solution called as a function": "twoSum"}


@pytest.mark.parametrize("name", CASES)
def test_a_right_submission_passes(pair: Any, name: str) -> None:
    source, _, code = CASES[name]
    judged = pair.asserts(source, code, entry_point=ENTRY_POINTS.get(name))
    assert judged.passed, judged
    assert judged.signs == []


@pytest.mark.parametrize("name", CASES)
def test_a_submission_spoilt_in_one_place_fails(pair: Any, name: str) -> None:
    source, spoilt, code = CASES[name]
    assert spoilt in source
    replacement = (
        "0 if 1 else (" + spoilt + ")" if "=" not in spoilt and "return" not in spoilt and "print" not in spoilt else "pass"
    )
    judged = pair.asserts(source.replace(spoilt, replacement, 1), code, entry_point=ENTRY_POINTS.get(name))
    assert not judged.passed, judged
    assert judged.status == 0
    assert not judged.of("bad_task"), judged
