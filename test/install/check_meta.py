#!/usr/bin/env python3
"""Check META.json against the PGXN Meta Spec 1.0.0, and that the release names one version.

    test/install/check_meta.py [DIRECTORY]      check the tree in DIRECTORY (default: this one)
    test/install/check_meta.py --self-test      check the checker: it must find faults planted in META.json

The PGXN client accepts any META.json; the upload service does not. The rules are those of the specification
and two more: every extension has an abstract and a docfile, and all files named in META.json exist.

These must name the same version: "version" in META.json and that of the extension that it provides (x.y.z);
default_version in the control file and the name of the script (x.y); the versions in the Makefile; the version that
the module reports in PostgreSQL 18 and later; the RPM, the Debian package and those of npm and PyPI; and the first section of CHANGELOG.md. (A section "Unreleased" above
it would mean that a published script was changed.)

Prints one line per fault. The exit status is 0 if there is none.
"""
import copy
import json
import pathlib
import re
import sys

VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-?[A-Za-z][0-9A-Za-z-]*)?")
REQUIREMENT = re.compile(r"0|((<=|>=|==|!=|<|>)\s*)?\d+\.\d+\.\d+(\s*,\s*(<=|>=|==|!=|<|>)\s*\d+\.\d+\.\d+)*")
LICENSES = set("""agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3
    lgpl_2_1 lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib
    open_source restricted unrestricted unknown""".split())


class Checker:
    """Walks the structure and collects faults, each with the path of the offending field."""

    def __init__(self):
        self.faults = []

    def fault(self, path, text):
        self.faults.append(f"META.json: {path}: {text}")

    # Values

    def string(self, path, value):
        if not isinstance(value, str) or not value.strip():
            self.fault(path, "must be a string that is not empty")
            return False
        return True

    def matching(self, path, value, pattern, what):
        if self.string(path, value) and not re.fullmatch(pattern, value):
            self.fault(path, f"{value!r} is not {what}")

    def term(self, path, value):
        self.matching(path, value, r"[^\s\x00-\x1f\x7f/\\]{2,}", "a term (two characters at least, no blanks or slashes)")

    def version(self, path, value):
        self.matching(path, value, VERSION, "a version x.y.z")

    def url(self, path, value):
        self.matching(path, value, r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+\S*", "a URL")

    def email(self, path, value):
        self.matching(path, value, r"\S+@\S+", "a mail address")

    def tag(self, path, value):
        self.matching(path, value, r"[^\x00-\x1f\x7f/\\]{1,255}", "a tag (1 to 255 characters, no slashes)")

    def license_name(self, path, value):
        if self.string(path, value) and value not in LICENSES:
            self.fault(path, f"{value!r} is not a license of the specification")

    def requirement(self, path, value):
        if isinstance(value, int) and value == 0:
            return
        self.matching(path, value, REQUIREMENT, "a version requirement")

    def one_of(self, *names):
        def check(path, value):
            if value not in names:
                self.fault(path, f"{value!r} is none of {', '.join(names)}")
        return check

    # Shapes

    def strings(self, check):
        """A string, or a list of them that is not empty."""
        def walk(path, value):
            if isinstance(value, list):
                if not value:
                    self.fault(path, "must not be empty")
                for i, item in enumerate(value):
                    check(f"{path}[{i}]", item)
            else:
                check(path, value)
        return walk

    def map(self, fields, required=(), others=None):
        """An object with known fields, and x_... of any content; `others` checks fields of other names."""
        def walk(path, value):
            if not isinstance(value, dict):
                self.fault(path, "must be an object")
                return
            for name in required:
                if value.get(name) is None:
                    self.fault(f"{path}.{name}", "is missing")
            for name, item in value.items():
                here = f"{path}.{name}"
                if name in fields:
                    fields[name](here, item)
                elif others:
                    others(here, name, item)
                elif not re.match(r"[xX]_", name):
                    self.fault(here, "is not a field of the specification")
        return walk

    def license(self, path, value):
        """Names of licenses, or an object of names and URLs."""
        if isinstance(value, dict):
            self.map({}, others=lambda here, name, item: self.url(here, item))(path, value)
        else:
            self.strings(self.license_name)(path, value)

    def provides(self, path, value):
        extension = self.map({"file": self.string, "version": self.version,
                              "abstract": self.string, "docfile": self.string},
                             required=("file", "version", "abstract", "docfile"))

        def one(here, name, item):
            self.term(here, name)
            extension(here, item)
        self.map({}, others=one)(path, value)
        if not value:
            self.fault(path, "must name an extension")

    def prereqs(self, path, value):
        phases = ("configure", "build", "test", "runtime", "develop")
        relations = ("requires", "recommends", "suggests", "conflicts")

        def package(here, name, item):
            self.term(here, name)
            self.requirement(here, item)
        relation = self.map({r: self.map({}, others=package) for r in relations})
        self.map({p: relation for p in phases})(path, value)

    def meta(self, value):
        resources = {
            "license": self.strings(self.url),
            "homepage": self.url,
            "bugtracker": self.map({"web": self.url, "mailto": self.email}),
            "repository": self.map({"web": self.url, "url": self.url,
                                    "type": lambda p, v: self.matching(p, v, r"[^A-Z]+", "in lower case")}),
        }
        self.map({
            "name": self.term,
            "version": self.version,
            "abstract": self.string,
            "description": self.string,
            "maintainer": self.strings(self.string),
            "generated_by": self.string,
            "license": self.license,
            "release_status": self.one_of("stable", "testing", "unstable"),
            "provides": self.provides,
            "prereqs": self.prereqs,
            "tags": self.strings(self.tag),
            "no_index": self.map({"file": self.strings(self.string), "directory": self.strings(self.string)}),
            "resources": self.map(resources),
            "meta-spec": self.map({"version": self.one_of("1.0.0"), "url": self.url}, required=("version",)),
        }, required=("name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"))("$", value)
        return self.faults


def no_duplicates(pairs):
    """JSON parsers silently keep the last of two equal names."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the field {name!r} occurs twice")
    return dict(pairs)


def one_version(tree, meta):
    """Returns the faults in the versions and file names of the release in `tree`."""
    faults = []
    version = str(meta.get("version"))
    for control in sorted(tree.glob("*.control")):
        if control.stem not in meta.get("provides", {}):
            faults.append(f"META.json: $.provides does not have {control.stem}, of which there is a control file")
    for name, extension in meta.get("provides", {}).items():
        for field in ("file", "docfile"):
            if not (tree / str(extension.get(field))).is_file():
                faults.append(f"META.json: $.provides.{name}.{field}: no file {extension.get(field)!r}")
        if extension.get("version") != version:
            faults.append(f"META.json: {name} has version {extension.get('version')}, the distribution {version}")

        control = (tree / f"{name}.control").read_text(encoding="utf-8")
        default = re.search(r"^\s*default_version\s*=\s*'([^']*)'", control, re.M)
        default = default.group(1) if default else None
        if default != ".".join(version.split(".")[:2]):
            faults.append(f"{name}.control: default_version is {default}, META.json has {version}")
        if extension.get("file") != f"{name}--{default}.sql":
            faults.append(f"META.json: {name} is in {extension.get('file')}, the control file wants {name}--{default}.sql")

    makefile = (tree / "Makefile").read_text(encoding="utf-8")
    for variable, number in re.findall(r"^(\w*VERSION)\s*[:?]*=\s*(\d+(?:\.\d+)+)\s*(?:#.*)?$", makefile, re.M):
        if number not in (version, ".".join(version.split(".")[:2])):
            faults.append(f"Makefile: {variable} is {number}, META.json has {version}")

    for source in sorted((tree / "src").rglob("*.[ch]")):
        for number in re.findall(r'\.version\s*=\s*"([^"]*)"', source.read_text(encoding="utf-8")):
            if number != version:
                faults.append(f"{source.name}: the module says version {number}, META.json has {version}")

    # The release archive does not have debian/, which belongs to the packagers.
    for path, pattern in (("packaging/bloomx.spec", r"^Version:\s*(\S+)"), ("debian/changelog", r"^bloomx \(([^-)]+)-[^)]*\)"),
                          ("clients/js/package.json", r'^ *"version": "([^"]*)"'), ("clients/python/pyproject.toml", r'^version = "([^"]*)"')):
        file = tree / path
        number = re.search(pattern, file.read_text(encoding="utf-8"), re.M) if file.is_file() else None
        if file.is_file() and (not number or number.group(1) != version):
            faults.append(f"{path}: the package has version {number and number.group(1)}, META.json has {version}")

    changelog = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## ([^\s,]+)", changelog, re.M)
    if not newest or newest.group(1) != version:
        faults.append(f"CHANGELOG.md: the first section is of {newest and newest.group(1)}, META.json has {version}")
    return faults


def self_test(meta):
    """Plants one fault after another; each must be found."""
    def change(path, value):
        def plant(m):
            *parents, last = path.split("/")
            for name in parents:
                m = m[name]
            if value is None:
                del m[last]
            else:
                m[last] = value
        return path, value, plant

    plants = [change(name, None) for name in
              ("name", "version", "abstract", "maintainer", "license", "provides", "meta-spec", "meta-spec/version",
               "provides/bloomx/file", "provides/bloomx/version", "provides/bloomx/docfile",
               "provides/bloomx/abstract")]
    plants += [change(*pair) for pair in (
        ("name", "b"), ("name", "bloom x"), ("version", "1.0"), ("version", "v1.0.0"), ("version", "01.0.0"), ("version", 1),
        ("abstract", ""), ("maintainer", []), ("license", "postgres"), ("license", {"mine": "here"}), ("author", "somebody"),
        ("provides", []), ("provides", {}), ("provides/bloomx/sql", "x"), ("meta-spec/version", "2.0.0"), ("meta-spec/url", "here"),
        ("release_status", "done"), ("tags", []), ("tags", ["a/b"]), ("prereqs", {"run": {}}),
        ("prereqs", {"runtime": {"needs": {}}}), ("prereqs", {"runtime": {"requires": {"PostgreSQL": "new"}}}),
        ("resources", {"homepage": "nowhere"}), ("resources", {"bugtracker": {"mailto": "nobody"}}))]
    missed = []
    for path, value, plant in plants:
        broken = copy.deepcopy(meta)
        plant(broken)
        if not Checker().meta(broken):
            missed.append(f"missed: {path} = {value!r}")
    custom = copy.deepcopy(meta)
    custom["x_custom"] = {"any": ["thing"]}
    missed += [f"refused: {fault}" for fault in Checker().meta(custom)]
    return missed


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    argument = sys.argv[1] if len(sys.argv) > 1 else str(here)
    tree = here if argument == "--self-test" else pathlib.Path(argument)
    try:
        meta = json.loads((tree / "META.json").read_text(encoding="utf-8"), object_pairs_hook=no_duplicates)
        if argument == "--self-test":
            faults = self_test(meta)
        else:
            faults = Checker().meta(meta)
            faults = faults or one_version(tree, meta)
    except (OSError, ValueError) as error:
        faults = [str(error)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
