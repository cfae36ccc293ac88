#!/usr/bin/env python3
"""What the pages for users promise as pages: their length, their words, and the way from the README to each task.

    test/documents/pages.py

User pages are README.md and docs/*.md.  A word is what is between blanks and has a
letter or a digit, in examples and tables as well, but not in HTML comments.  A task is reached in two
hops if the README links its page, or a page that links it; its section must have the statement that does it, in a block,
and check-reference and clients.sh run these blocks.  The examples of the pages use different names for what they create,
so that a reader can type them into one session.  Needs no server.  The last line is "N passed, N failed".
"""
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README_WORDS, PAGE_WORDS, ALL_WORDS = 1400, 4500, 30000

# The task, the page and the heading (none: the whole page), and what its blocks, or for questions its text, must have.
TASKS = [
    ("check a sign-up against known names", "docs/recipes.md", "Negative cache", r"sql: @> wanted AND EXISTS"),
    ("keep a filter column current", "docs/filter-columns.md", "One call", r"sql: SELECT bloom_maintain\("),
    ("a report on a star schema", "docs/joins.md", "Try it", r"sql: SET bloomx\.runtime_filter = on"),
    ("the same, on a managed service and without being superuser", "docs/joins.md", "Load the library", r"text: SELECT bloom_empty\(1\) IS NOT NULL"),
    ("what to preload", "docs/joins.md", "Load the library", r"postgresql: shared_preload_libraries = 'bloomx'"),
    ("the cost of a runtime filter that does not help", "docs/joins.md", "What it gains, and what it costs", r"text: ns per row"),
    ("what EXPLAIN shows of skipped pages", "docs/joins.md", "Seeing it", r"text: EXPLAIN \(ANALYZE\)[\s\S]*pages skipped"),
    ("one index for ids and JSON tags", "docs/indexes.md", "Create", r"sql: USING bloomx \(trace_id, user_id, tags\)"),
    ("its size before it is built", "docs/indexes.md", "Size", r"text: 2\.6 MB per million keys"),
    ("LIKE '%...%'", "docs/indexes.md", "Create", r"sql: USING bloomx \(message text_ngram_ops\)"),
    ("how much memory", "docs/operations.md", "Memory", r"text: work_mem"),
    ("upgrade", "docs/operations.md", "Upgrade", r"text: ALTER EXTENSION bloomx UPDATE"),
    ("dump and restore", "docs/operations.md", "Backup, replication, removal", r"text: pg_dump"),
    ("which versions", "README.md", None, r"text: PostgreSQL 15"),
    ("from Node", "docs/programs.md", "Node.js: pg", r"js: ids @> \$1"),
    ("from Spark", "docs/programs.md", "Other systems", r"text: Apache Spark"),
    ("deduplicate a stream", "docs/recipes.md", "Deduplicate a stream", r"sql: AND NOT keys @> \$1 RETURNING"),
    ("the same with many sessions and many keys", "docs/bloomset.md", "A set without a table", r"sql: USING bloomset_table;[\s\S]*bloomset_add"),
    ("a filter of a table's keys that is always current", "docs/bloomset.md", "Creating a set", r"sql: USING bloomset \("),
    ("a key in a table of a hundred partitions", "docs/partitions.md", "One lookup for all partitions", r"sql: WITH \(partition_lookup = on\)"),
    ("a unique column that is not the partition key", "docs/partitions.md", "Unique across partitions", r"sql: SELECT bloomx_unique\("),
    ("between two servers", "docs/distributed.md", "Automatic filters for foreign tables", r"sql: SET bloomx\.runtime_filter = on"),
    ("the licence", "README.md", None, r"text: PostgreSQL License"),
    ("is it safe, how is it tested", "docs/operations.md", "How it is tested", r"text: SIGKILL|crash"),
]

OTHER_PAGES = ["CHANGELOG.md", "SECURITY.md", "demo/README.md", "packaging/README.md", "clients/drivers.md", "clients/orms.md",
               "clients/java/README.md", "clients/js/README.md", "clients/python/README.md"]

# Words that the field does not use for these things: CONTRIBUTING names the ones that it does.
FOREIGN = re.compile(r"\basks? (?:a|the|each) filter|\banew\b|\bin vain\b|\bperhaps\b|\bneedles?\b|find a partner|\bstrangers\b|\bsemijoin pre-filter\b"
                     r"|\bunit(?:e|es|ed|ing)\b|silently false", re.I)

passed = failed = 0


def check(name, problem):
    """Count one check; problem is empty when it passed."""
    global passed, failed
    if problem:
        failed += 1
        print(f"FAILED {name}: {problem}")
    else:
        passed += 1


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        return re.sub(r"<!--.*?-->", "", file.read(), flags=re.S)


BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)


def links(name):
    """The pages that a page links."""
    return {os.path.normpath(os.path.join(os.path.dirname(name), link.partition("#")[0]))
            for link in re.findall(r"\]\(([^)\s:]+)\)", BLOCK.sub("", read(name)))}


def section(text, heading):
    if heading is None:
        return text
    # a heading in a block is none
    text = BLOCK.sub(lambda block: re.sub(r"^#", " #", block.group(0), flags=re.M), text)
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,2}} |\Z)", text, re.M | re.S)
    return found and found.group(2)


def check_words(pages):
    total = 0
    for page in pages:
        words = len(re.findall(r"\S*\w\S*", read(page)))
        total += words
        limit = README_WORDS if page == "README.md" else PAGE_WORDS
        check(f"{page}: words", f"{words}, more than {limit}" if words > limit else "")
    check("all user pages: words", f"{total}, more than {ALL_WORDS}" if total > ALL_WORDS else "")
    return total


def check_tasks():
    near = links("README.md") | {"README.md"}
    reached = near | {page for first in near if first.endswith(".md") for page in links(first)}
    for task, page, heading, wanted in TASKS:
        kind, pattern = wanted.split(": ", 1)
        text = section(read(page), heading) if page in reached else None
        if text is None:
            check(f"task: {task}", f"{page} has no heading {heading}" if page in reached else f"{page} is not two hops from README.md")
            continue
        if kind != "text":
            text = "\n".join(body for language, body in BLOCK.findall(text) if language == kind)
        check(f"task: {task}", "" if re.search(pattern, text) else f"{page} does not have {pattern}")


def check_names(pages):
    """No two pages create an object of one name; a page that drops it at its end does not count."""
    owners = {}
    for page in pages:
        sql = "\n".join(body for language, body in BLOCK.findall(read(page)) if language == "sql")
        created = re.findall(r"^ *CREATE (?:TEMP |UNLOGGED |FOREIGN |OR REPLACE )*(?:TABLE|FUNCTION|MATERIALIZED VIEW|VIEW|SCHEMA) (?:IF NOT EXISTS )?([\w.]+)", sql, re.M)
        for name in set(created) - set(re.findall(r"DROP (?:TABLE|FUNCTION|SCHEMA) (?:IF EXISTS )?([\w.]+)", sql)):
            owners.setdefault(name, []).append(page)
    for name, where in sorted(owners.items()):
        check(f"{name} is created by one page", " and ".join(where) if len(where) > 1 else "")


def check_language(pages):
    for page in pages:
        prose = re.sub(r"`[^`\n]+`|\]\([^)]*\)", "", BLOCK.sub("", read(page)))
        check(f"{page}: words of the field", ", ".join(sorted(set(word.lower() for word in FOREIGN.findall(prose)))))


def check_comments():
    """Comments on SQL objects and the texts of errors, hints and settings are read by users as well."""
    for path in sorted(glob.glob(os.path.join(TOP, "*.sql")) + glob.glob(os.path.join(TOP, "src", "**", "*.c"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(".sql"):
            said = re.findall(r"^COMMENT ON .*?\bIS\s+'((?:[^']|'')*)'", text, re.M | re.S) + re.findall(r"(?:MESSAGE|DETAIL|HINT) = '((?:[^']|'')*)'", text)
        else:
            said = re.findall(r'"((?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*)"', re.sub(r"/\*.*?\*/", "", text, flags=re.S))
        found = sorted({word.lower() for line in said for word in FOREIGN.findall(line)})
        check(f"{os.path.relpath(path, TOP)}: words of the field", ", ".join(found))


def check_messages():
    """Each message that the operations page explains is one that a test has seen, except of a server that lacks the library (58P01)."""
    seen = ""
    for path in glob.glob(os.path.join(TOP, "expected", "*.out")):
        with open(path, encoding="utf-8") as file:
            seen += file.read().replace("bloom filter ", "")
    for line in re.findall(r"^\| (.*?) \| (?:notice|`(?!58)\d)", section(read("docs/operations.md"), "Messages"), re.M):
        for message in line.replace("\\|", "|").split("; "):
            words = re.sub(r"\bN\b|\bT\b|\\\.\\\.\\\.", ".+", re.escape(message))
            check(f"message: {message}", "" if re.search(words, seen) else "no test has it")


def check_settings():
    """The operations page has every setting."""
    table = section(read("docs/operations.md"), "Settings")
    with open(os.path.join(TOP, "test", "documents", "surface.txt"), encoding="utf-8") as file:
        for name in re.findall(r"^setting (\S+)", file.read(), re.M):
            check(f"setting {name}", "" if f"\n| `{name}` |" in table else "docs/operations.md does not have it")


def check_map(pages):
    """docs/README.md leads to every page."""
    listed = links("docs/README.md")
    inside = [os.path.relpath(path, TOP) for path in glob.glob(os.path.join(TOP, "docs", "internals", "**", "*.md"), recursive=True)]
    for page in [*pages, *inside]:
        check(f"docs/README.md lists {page}", "" if page in listed or page == "docs/README.md" else "it does not")


def check_mentions():
    """Comments, scripts and messages name pages that exist."""
    for folder, folders, files in os.walk(TOP):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in ("results", "build", "tmp_check")]
        for name in files:
            path = os.path.join(folder, name)
            if name.startswith(".") or os.path.splitext(name)[1] not in ("", ".c", ".h", ".py", ".sh", ".sql", ".md", ".json", ".control", ".spec") or not os.path.isfile(path):
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            except UnicodeDecodeError:
                continue
            missing = {page for page in re.findall(r"\bdocs/[\w/-]+\.md\b", text) if not os.path.exists(os.path.join(TOP, page))}
            if missing or "docs/" in text:
                check(f"{os.path.relpath(path, TOP)} names pages that exist", ", ".join(sorted(missing)))


def check_walks():
    """Each step of the walks of CONTRIBUTING.md names functions that a file has which the step links."""
    for step in re.split(r"\n(?=\d\. |\*\*)", section(read("CONTRIBUTING.md"), "Four walks")):
        texts = [read(file) for file in re.findall(r"\]\(([^)#]+\.[ch])\)", step)]
        for name in re.findall(r"`(\w*(?:[a-z][A-Z]|_)\w+|bloomx[a-z]+)`", step):
            check(f"CONTRIBUTING.md: {name}", "" if any(re.search(rf"^{name}\(", text, re.M) for text in texts) else "no file that its step links has such a function")


def main():
    pages = ["README.md"] + sorted(os.path.relpath(path, TOP) for path in glob.glob(os.path.join(TOP, "docs", "*.md")))
    total = check_words(pages)
    check_tasks()
    check_names(pages)
    check_language(pages + OTHER_PAGES)
    check_comments()
    check_messages()
    check_map(pages)
    check_settings()
    check_walks()
    check_mentions()
    print(f"# {total} words in {len(pages)} pages")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
