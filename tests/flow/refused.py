"""Programs that are no flow: what is written, the text that the complaint points to, its reason, its advice."""

from typing import Final

PRELUDE: Final = """
import random
from dataclasses import dataclass
from typing import Any, TypedDict
from dcf import Rejected, agent, child, each, flow, human, parallel, signal, sleep, task, token

@dataclass
class Page:
    url: str
    words: int
    title: str | None = None

class Row(TypedDict):
    n: int

class Broken(Exception): pass

NAN = float("nan")

@task
def fetch(url: str, deep: bool = False) -> Page:
    return Page(url, 1)

def helper(page: Page) -> int:
    return page.words

@flow(timeout=5)
def timed(n: int) -> int:
    return n

@flow
def main(urls: list[str], n: int, data: dict, row: Row, ratio: float) -> Any:
"""

REFUSED: Final = [
    ("return fetch(urll=urls[0])", "urls[0]", "fetch() has no 'urll'. Did you mean 'url'?", "It has url, deep."),
    ("return fetch()", "fetch()", "missing a required argument: 'url'", "It is fetch(url"),
    ("return fetch(n)", "n", "'url' of fetch() is str, this is int.", "Change the argument"),
    (
        "return fetch(urls[0]).word",
        "fetch(urls[0]).word",
        "no field 'word'. Did you mean 'words'?",
        "It has url, words",
    ),
    ("return row['m']", "row['m']", "Row has no key 'm'", "It has n."),
    ("return helper(fetch(urls[0]))", "helper(fetch(urls[0]))", "helper() is no step", "Put @task above it"),
    ("return random.choice(urls)", "random.choice(urls)", "random.choice() is no step", "in a @task function"),
    ("print(n)\nreturn n", "print(n)", "print() is no step and no expression of a flow.", "Call it in a @task"),
    ("return list(map(str, urls))", "map(str, urls)", "map() is no step", "Write [f(x) for x in xs]."),
    ("return list(filter(None, urls))", "filter(None, urls)", "filter() is no", "Write [x for x in xs if ...]."),
    (
        "data['seen'] = True\nreturn data",
        "data['seen'] = True",
        "changes a value in place",
        "data = {**data, 'seen': ...}",
    ),
    ("data['a'] += 1\nreturn data", "data['a'] += 1", "in place", "Write data = {**data, 'a': data['a'] + 1}."),
    ("urls[0] = 'a'\nreturn urls", "urls[0] = 'a'", "changes a list in place", "for at, x in enumerate(urls)]."),
    ("data.update({'a': n})\nreturn data", "data.update({'a': n})", "in place", "Write data = {**data, 'a': n}."),
    ("data.update(a=n)\nreturn data", "data.update(a=n)", "in place", "Write data = {**data, 'a': n}."),
    ("data.update(row)\nreturn data", "data.update(row)", "in place", "Write data = {**data, **row}."),
    ("urls.extend(urls)\nreturn urls", "urls.extend(urls)", "in place", "Write urls = [*urls, *urls]."),
    ("return 'a %s: %d' % (urls[0], n)", "'a %s: %d' % (urls[0], n)", "% of a text", "Write f'a {urls[0]}: {n}'."),
    ("return '%5d' % n", "'%5d' % n", "% of a text", "Write an f-string: f'... {x}'."),
    ("return 'a {}'.format(n)", "'a {}'.format(n)", ".format() cannot", "Write f'a {n}'."),
    ("return '{x}'.format(x=n)", "'{x}'.format(x=n)", ".format() cannot", "Write an f-string"),
    ("page = fetch('a')\npage.url = 'b'\nreturn page", "page.url = 'b'", "A field cannot be set", "Make a new object."),
    ("if n > 3:\n    page = fetch('a')\nreturn page.url", "page", "'page' may have no value here.", "page = ..."),
    ("return n > 3 and fetch('a').words > 2", "fetch('a')", "whether it runs here depends", "on a line of its own"),
    (
        "return [urls[9], fetch('a').url]",
        "fetch('a')",
        "may fail, and Python would then not come",
        "line of its own before",
    ),
    ("return data['price'] + 1", "data['price']", "The type of data['price'] is not known", "Annotate it: x: float"),
    ("xs = data['a']\nreturn sum(xs)", "sum(xs)", "sum() takes numbers", "Annotate it: xs: list[float] = ..."),
    ("text = data['a']\nreturn f'{text}'", "text", "its text depends on it", "Annotate it: text: str = ..."),
    ("parts = data['a']\nreturn len(parts)", "len(parts)", "length of Any", "Annotate it: parts: list[str] = ..."),
    ("with open('x') as file:\n    return 1", "with open('x') as file:", "nothing stays open", "in one @task"),
    (
        "page = await fetch('a')\nreturn page",
        "await fetch('a')",
        "A flow is a plain function",
        "every step is waited for",
    ),
    ("return fetch.with_(timeout=n)(urls[0])", "n", "fixed when the flow is compiled", "Write a constant."),
    ("try:\n    fetch('a')\nfinally:\n    return 1", "return 1", "leaves a finally", "Move it behind the try."),
    ("f = lambda u: u\nreturn n", "lambda u: u", "A lambda has no place", "Write a comprehension"),
    ("double = 2\nreturn double(n)", "double", "double is int, which is not called", "Write a @task with another name"),
    ("return fetch(urls[0]).url + sufix", "sufix", "'sufix' is not known.", "Give it a value before"),
    ("return urls['a']", "'a'", "The place in a list is a whole number, not str.", "xs[0]"),
    ("return data[n]", "n", "A key is a string, not int.", "d[f'{key}']"),
    ("return urls['a':]", "'a'", "The ends of a slice are whole numbers.", "xs[1:3]"),
    (
        "return agent('w', 'Write.', urls, ouput=Page)",
        "Page",
        "no 'ouput'. Did you mean 'output'?",
        "It has output, data",
    ),
    ("assert n\nreturn n", "assert n", "assert vanishes", "Write if not ...: raise"),
    ("def inner(): ...\nreturn n", "def inner(): ...", "close over its variables", "at the top of the file"),
    ("import os\nreturn n", "import os", "An import has no place", "at the top of the file"),
    ("global x\nreturn n", "global x", "no global state", "Return the value."),
    ("del urls\nreturn n", "del urls", "del has no place", "Leave it out."),
    ("yield n", "yield n", "yield cannot be part", "Return a list."),
    ("if (m := n) > 1:\n    return m\nreturn n", "m := n", ":= cannot be part", "on a line of its own"),
    ("return NAN", "NAN", "NAN is no JSON value", "Use it in a @task function."),
    ("return {1, 2}", "{1, 2}", "A set is no JSON value.", "Write a list."),
    ("return (n, 2)", "(n, 2)", "A tuple is no JSON value.", "Write a list: [a, b]."),
    ("return urls[::2]", "urls[::2]", "A slice with a step", "@task function"),
    ("a = b = n\nreturn a", "a = b = n", "one value under two names", "Assign twice."),
    ("return row['n'] is n", "n", "`is` compares identities", "Write ==."),
    ("return f'{ratio}'", "ratio", "another text in JSON", "{x:.2f}"),
    ("return ratio // 2", "ratio // 2", "of floats rounds otherwise", "Use whole numbers"),
    ("return round(ratio, 2)", "round(ratio, 2)", "depends on how a float is kept", ".2f"),
    ("return int('5')", "int('5')", "int() of str is not the same", "in a @task function"),
    ("return n == 'a'", "n", "int and str are never equal", "values of the same type"),
    (
        "seen = {'a': 1}\nseen = {**seen, 'b': n}\nreturn seen",
        "seen = {**seen, 'b': n}",
        "'seen' is {'a': int}, and this is {'a': int, 'b': int}.",
        "Annotate its first assignment: seen: dict[str, int] = ...",
    ),
    ("x = 1\nx = 'a'\nreturn x", "x = 'a'", "'x' is int, and this is str.", "Use another name."),
    (
        "total = 0\nfor u in each(urls):\n    total = total + 1\nreturn total",
        "total = total + 1",
        "belongs to the code",
        "Use another name",
    ),
    ("return main(urls, n, data, row, ratio)", "main(urls, n, data, row, ratio)", "calls itself", "Write child(...)"),
    ("try:\n    fetch('a')\nexcept:\n    pass\nreturn n", "except:", "A bare except", "except Exception"),
    (
        "try:\n    x = n + 1\nexcept Broken:\n    x = 2\nreturn x",
        "try:",
        "Nothing in this try is a step",
        "leave the try out",
    ),
    (
        "try:\n    fetch(urls[0])\nexcept Exception:\n    pass\nreturn n",
        "urls[0]",
        "This expression may fail",
        "before the try",
    ),
    ("return 9007199254740995", "9007199254740995", "beyond 2**53", "Write it as a string."),
    ("return n\nfetch('a')", "fetch('a')", "never reached", "Remove it."),
    ("for u in urls:\n    pass\nelse:\n    n = 1\nreturn n", "n = 1", "no else here", "test it after the loop"),
    (
        "while fetch('a').words > 1:\n    sleep(1)\nreturn n",
        "fetch('a').words > 1",
        "has no step",
        "for attempt in range(100)",
    ),
    ("while n > 1:\n    page = fetch('a')\nreturn n", "n > 1", "Nothing bounds this loop", "rounds += 1"),
    ("while True:\n    if fetch('a').words:\n        break\nreturn n", "True", "Nothing bounds", "timeout=86400"),
    ("return n in 'abc'", "n", "n is int; the parts of a str are strings", "str(...)"),
    ("sleep()\nreturn n", "sleep()", "sleep() needs a time", "Write sleep(...) with it."),
    ("t = token()\nreturn t", "token()", "Only a task that ends with a callback", "@task(callback=True)"),
    ("return fetch(token()).url", "token()", "Only a task that ends with a callback", "@task(callback=True)"),
    ("return timed(n)", "timed(n)", "only a run has one", "child(timed, ...)"),
    (
        "xs = urls\nxs.append('a')\nreturn xs",
        "xs.append('a')",
        "stands for a value that has another",
        "xs = [*xs, ...]",
    ),
    ("raise ValueError(n)", "ValueError(n)", "An error has one text; this is int.", "Write f'...', or text or"),
    (
        "page = fetch(url='a')\nraise Broken(page.title)",
        "Broken(page.title)",
        "An error has one text; this is str | None.",
        "text or 'no reason'.",
    ),
    ("raise Rejectd('x')", "Rejectd", "'Rejectd' is not known. Did you mean 'Rejected'?", "import it at the top"),
    ("raise n", "n", "a class of exceptions with a text", "raise SomeError"),
    ("for u in each(urls):\n    if n:\n        break\nreturn n", "break", "no loop around this", "return in a flow"),
    ("human('Ok?')\nreturn n", "human('Ok?')", "needs to=", 'to=["alice"]'),
    (
        "a, b = parallel(fetch('a'))\nreturn a",
        "a, b = parallel(fetch('a'))",
        "1 branches for 2 names",
        "one name for each",
    ),
    ("return child(helper, n)", "helper", "child() takes a flow.", "Put @flow above"),
    ("return fetch('a').title.upper()", "fetch('a').title.upper()", ".upper() of str | None", "@task function"),
    ("return urls.upper()", "urls.upper()", ".upper() of list[str]", "@task function"),
    ("return fetch", "fetch", "fetch is a step; it is called", "Write fetch(...)."),
    ("x = sleep(1)\nreturn x", "sleep(1)", "A wait gives no value", "on a line of its own"),
    ("fetch('a') if n else 1\nreturn n", "fetch('a')", "whether it runs here depends", "within an if"),
    ("n + 1\nreturn n", "n + 1", "This has no effect.", "Assign it"),
    ("match n:\n    case [a, b]:\n        return 1\nreturn 2", "[a, b]", "A case is a constant", "Write if and elif."),
]
