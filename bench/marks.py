"""What the documents take from measurements: tables and numbers between marks.

    <!-- table NAME -->            a table, by the function of that name
    <!-- end -->
    <!-- = NAME -->29<!-- / -->    a number in a sentence or in a cell of a table written by hand;
    <!--=NAME-->29<!--/-->         the same, which word counters take for one word

Filling in replaces what is between the marks. A number keeps its decimals, its thousands' commas and its unit, such as
"2.6 MB" or "15x".
"""
import re

TABLE = re.compile(r"<!-- table ([\w-]+) -->\n(.*?)<!-- end -->", re.S)
NUMBER = re.compile(r"(<!-- ?= ?(.+?) ?-->)(.*?)(<!-- ?/ ?-->)", re.S)


def markdown(heads, lines):
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for line in lines:
        yield "| " + " | ".join(str(cell) for cell in line) + " |"


def like(shown, value):
    """The value as the number in the text shown is written."""
    found = re.search(r"\d[\d,]*(?:\.(\d+))?", shown)
    if not found:
        return f"{value:.3g}"
    new = f"{value:,.{len(found[1] or '')}f}"
    if "," not in found[0] and value < 10000:
        new = new.replace(",", "")
    return shown[:found.start()] + new + shown[found.end():]


def fill(text, tables, number):
    """The text with what belongs between its marks; number(name) is the value of one."""
    text = TABLE.sub(lambda mark: f"<!-- table {mark[1]} -->\n" + "\n".join(tables(mark[1])) + "\n<!-- end -->", text)
    return NUMBER.sub(lambda mark: mark[1] + like(mark[3], number(mark[2])) + mark[4], text)
