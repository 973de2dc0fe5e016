"""The code of an author who follows the advice of each refusal alone; a pair has the text above the flow."""

from typing import Final

CORRECTED: Final[dict[str, str | tuple[str, str]]] = {
    "return fetch(urll=urls[0])": "return fetch(url=urls[0])",
    "return fetch()": "return fetch(urls[0])",
    "return fetch(n)": "return fetch(f'{n}')",
    "return fetch(urls[0]).word": "return fetch(urls[0]).words",
    "return row['m']": "return row['n']",
    "return helper(fetch(urls[0]))": (
        "@task\ndef helper(page: Page) -> int:\n    return page.words",
        "return helper(fetch(urls[0]))",
    ),
    "return random.choice(urls)": (
        "@task\ndef choose(urls: list[str]) -> str:\n    return random.choice(urls)",
        "return choose(urls)",
    ),
    "print(n)\nreturn n": ("@task\ndef tell(n: int) -> None:\n    print(n)", "tell(n)\nreturn n"),
    "return list(map(str, urls))": "return [str(url) for url in urls]",
    "return list(filter(None, urls))": "return [url for url in urls if url]",
    "data['seen'] = True\nreturn data": "data = {**data, 'seen': True}\nreturn data",
    "data['a'] += 1\nreturn data": "a: int = data['a']\ndata = {**data, 'a': a + 1}\nreturn data",
    "urls[0] = 'a'\nreturn urls": "urls = [x if at > 0 else 'a' for at, x in enumerate(urls)]\nreturn urls",
    "data.update({'a': n})\nreturn data": "data = {**data, 'a': n}\nreturn data",
    "data.update(a=n)\nreturn data": "data = {**data, 'a': n}\nreturn data",
    "data.update(row)\nreturn data": "data = {**data, **row}\nreturn data",
    "urls.extend(urls)\nreturn urls": "urls = [*urls, *urls]\nreturn urls",
    "return 'a %s: %d' % (urls[0], n)": "return f'a {urls[0]}: {n}'",
    "return '%5d' % n": "return f'{n}'",
    "return 'a {}'.format(n)": "return f'a {n}'",
    "return '{x}'.format(x=n)": "return f'{n}'",
    "page = fetch('a')\npage.url = 'b'\nreturn page": "page = fetch('a')\npage = Page('b', page.words)\nreturn page",
    "if n > 3:\n    page = fetch('a')\nreturn page.url": (
        "page = fetch('b')\nif n > 3:\n    page = fetch('a')\nreturn page.url"
    ),
    "return n > 3 and fetch('a').words > 2": (
        "if n > 3:\n    page = fetch('a')\n    return page.words > 2\nreturn False"
    ),
    "return [urls[9], fetch('a').url]": "page = fetch('a')\nreturn [urls[9], page.url]",
    "return data['price'] + 1": "price: float = data['price']\nreturn price + 1",
    "xs = data['a']\nreturn sum(xs)": "xs: list[float] = data['a']\nreturn sum(xs)",
    "text = data['a']\nreturn f'{text}'": "text: str = data['a']\nreturn f'{text}'",
    "parts = data['a']\nreturn len(parts)": "parts: list[str] = data['a']\nreturn len(parts)",
    "with open('x') as file:\n    return 1": (
        "@task\ndef read(path: str) -> str:\n    with open(path) as file:\n        return file.read()",
        "return read('x')",
    ),
    "page = await fetch('a')\nreturn page": "page = fetch('a')\nreturn page",
    "return fetch.with_(timeout=n)(urls[0])": "return fetch.with_(timeout=60)(urls[0])",
    "try:\n    fetch('a')\nfinally:\n    return 1": "try:\n    fetch('a')\nfinally:\n    sleep(1)\nreturn 1",
    "f = lambda u: u\nreturn n": "us = [u for u in urls]\nreturn us",
    "double = 2\nreturn double(n)": ("@task\ndef twice(n: int) -> int:\n    return 2 * n", "return twice(n)"),
    "return fetch(urls[0]).url + sufix": "sufix = '!'\nreturn fetch(urls[0]).url + sufix",
    "return urls['a']": "return urls[0]",
    "return data[n]": "return data[f'{n}']",
    "return urls['a':]": "return urls[1:]",
    "return agent('w', 'Write.', urls, ouput=Page)": "return agent('w', 'Write.', urls, output=Page)",
    "assert n\nreturn n": "if not n:\n    raise Broken('n is 0')\nreturn n",
    "def inner(): ...\nreturn n": ("@task\ndef inner() -> None: ...", "inner()\nreturn n"),
    "import os\nreturn n": ("import os", "return n"),
    "global x\nreturn n": "return n",
    "del urls\nreturn n": "return n",
    "yield n": "return [n]",
    "if (m := n) > 1:\n    return m\nreturn n": "m = n\nif m > 1:\n    return m\nreturn n",
    "return NAN": ("@task\ndef written() -> str:\n    return str(NAN)", "return written()"),
    "return {1, 2}": "return [1, 2]",
    "return (n, 2)": "return [n, 2]",
    "return urls[::2]": (
        "@task\ndef every_second(urls: list[str]) -> list[str]:\n    return urls[::2]",
        "return every_second(urls)",
    ),
    "a = b = n\nreturn a": "a = n\nb = n\nreturn a",
    "return row['n'] is n": "return row['n'] == n",
    "return f'{ratio}'": "return f'{ratio:.2f}'",
    "return ratio // 2": "return round(ratio / 2)",
    "return round(ratio, 2)": "return f'{ratio:.2f}'",
    "return int('5')": ("@task\ndef read(text: str) -> int:\n    return int(text)", "return read('5')"),
    "return n == 'a'": "return f'{n}' == 'a'",
    "seen = {'a': 1}\nseen = {**seen, 'b': n}\nreturn seen": (
        "seen: dict[str, int] = {'a': 1}\nseen = {**seen, 'b': n}\nreturn seen"
    ),
    "x = 1\nx = 'a'\nreturn x": "x = 1\ny = 'a'\nreturn y",
    "total = 0\nfor u in each(urls):\n    total = total + 1\nreturn total": (
        "total = 0\nfor u in each(urls):\n    words = total + fetch(u).words\nreturn total"
    ),
    "return main(urls, n, data, row, ratio)": "return child(main, urls, n, data, row, ratio)",
    "try:\n    fetch('a')\nexcept:\n    pass\nreturn n": "try:\n    fetch('a')\nexcept Exception:\n    pass\nreturn n",
    "try:\n    x = n + 1\nexcept Broken:\n    x = 2\nreturn x": "x = n + 1\nreturn x",
    "try:\n    fetch(urls[0])\nexcept Exception:\n    pass\nreturn n": (
        "url = urls[0]\ntry:\n    fetch(url)\nexcept Exception:\n    pass\nreturn n"
    ),
    "return 9007199254740995": "return '9007199254740995'",
    "return n\nfetch('a')": "return n",
    "for u in urls:\n    pass\nelse:\n    n = 1\nreturn n": (
        "seen = False\nfor u in urls:\n    seen = True\nif seen:\n    n = 1\nreturn n"
    ),
    "while fetch('a').words > 1:\n    sleep(1)\nreturn n": (
        "for attempt in range(9):\n    page = fetch('a')\n    if page.words < 2:\n        break\n    sleep(1)\nreturn n"
    ),
    "while n > 1:\n    page = fetch('a')\nreturn n": (
        "rounds = 0\nwhile n > 1 and rounds < 100:\n    page = fetch('a')\n    rounds += 1\nreturn n"
    ),
    "while True:\n    if fetch('a').words:\n        break\nreturn n": (
        "for turn in range(100):\n    page = fetch('a')\n    if page.words:\n        break\nreturn n"
    ),
    "return n in 'abc'": "return str(n) in 'abc'",
    "sleep()\nreturn n": "sleep(30)\nreturn n",
    "t = token()\nreturn t": (
        "@task(callback=True)\ndef sign(token: str) -> str:\n    return token",
        "return sign(token())",
    ),
    "return fetch(token()).url": (
        "@task(callback=True)\ndef sign(token: str) -> str:\n    return token",
        "return sign(token())",
    ),
    "return timed(n)": "return child(timed, n)",
    "xs = urls\nxs.append('a')\nreturn xs": "xs = urls\nxs = [*xs, 'a']\nreturn xs",
    "raise ValueError(n)": "raise ValueError(f'{n}')",
    "page = fetch(url='a')\nraise Broken(page.title)": (
        "page = fetch(url='a')\nraise Broken(page.title or 'no reason given')"
    ),
    "raise Rejectd('x')": "raise Rejected('x')",
    "raise n": 'raise Broken("why")',
    "for u in each(urls):\n    if n:\n        break\nreturn n": (
        "@flow\ndef part(u: str, n: int) -> Any:\n    if n:\n        return None\n    return fetch(u)",
        "for u in each(urls):\n    part(u, n)\nreturn n",
    ),
    "human('Ok?')\nreturn n": "human('Ok?', to=[\"alice\"])\nreturn n",
    "a, b = parallel(fetch('a'))\nreturn a": "a, b = parallel(fetch('a'), fetch('b'))\nreturn a",
    "return child(helper, n)": ("@flow\ndef helper(n: int) -> int:\n    return n", "return child(helper, n)"),
    "return fetch('a').title.upper()": (
        "@task\ndef upper_title(page: Page) -> str | None:\n    return page.title and page.title.upper()",
        "return upper_title(fetch('a'))",
    ),
    "return urls.upper()": (
        "@task\ndef upper(urls: list[str]) -> list[str]:\n    return [url.upper() for url in urls]",
        "return upper(urls)",
    ),
    "return fetch": "return fetch(urls[0])",
    "x = sleep(1)\nreturn x": "sleep(1)\nreturn n",
    "fetch('a') if n else 1\nreturn n": "if n:\n    fetch('a')\nreturn n",
    "n + 1\nreturn n": "m = n + 1\nreturn m",
    "match n:\n    case [a, b]:\n        return 1\nreturn 2": "if n == 1:\n    return 1\nreturn 2",
}
