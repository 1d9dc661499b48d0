#!/usr/bin/env python3
"""Reads Prometheus' text format 0.0.4 from a URL, strictly, and prints it as JSON.

Fails on what a scraper would refuse or misread: a sample without a type, families that are not in one
piece, series that come twice, labels that are not UTF-8, buckets that fall, a +Inf that is not the count.
"""
import json
import re
import sys
import urllib.request

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\Z)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}
UNESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def labels_of(text):
    labels, at = {}, 0
    while text and at < len(text):
        m = LABEL.match(text, at)
        assert m, f"bad labels: {text}"
        assert m[1] not in labels, f"a label twice: {text}"
        labels[m[1]] = re.sub(r'\\["\\n]', lambda e: UNESCAPED[e[0]], m[2])
        at = m.end()
    return labels


def family_of(name, types):
    if name in types:
        return name
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    assert types.get(base) in ("histogram", "summary"), f"no type: {name}"
    return base


def parse(text):
    assert text.endswith("\n"), "no newline at the end"
    types, samples, seen, finished, current = {}, [], set(), set(), None
    for line in text.split("\n")[:-1]:
        if line.startswith("#"):
            word, name, rest = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line).groups()
            if word == "TYPE":
                assert rest in TYPES and name not in types, line
                types[name] = rest
            continue
        m = SAMPLE.fullmatch(line)
        assert m, f"no sample: {line}"
        family = family_of(m[1], types)
        if family != current:
            assert family not in finished, f"in two pieces: {family}"
            finished.add(current)
            current = family
        labels = labels_of(m[2])
        key = (m[1], tuple(sorted(labels.items())))
        assert key not in seen, f"twice: {line}"
        seen.add(key)
        samples.append({"name": m[1], "labels": labels, "value": float(m[3])})
    return types, samples


def check_histograms(types, samples):
    for family in (f for f, t in types.items() if t == "histogram"):
        buckets, counts = {}, {}
        for s in samples:
            who = tuple(sorted((k, v) for k, v in s["labels"].items() if k != "le"))
            if s["name"] == family + "_bucket":
                buckets.setdefault(who, []).append((float(s["labels"]["le"]), s["value"]))
            if s["name"] == family + "_count":
                counts[who] = s["value"]
        assert buckets.keys() == counts.keys()
        for who, list_ in buckets.items():
            assert list_ == sorted(list_) and len({le for le, _ in list_}) == len(list_), who
            assert [n for _, n in list_] == sorted(n for _, n in list_), f"falls: {who}"
            assert list_[-1] == (float("inf"), counts[who]), f"+Inf is not the count: {who}"


def main():
    request = urllib.request.Request(sys.argv[1], headers={"Accept": "text/plain;version=0.0.4"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), "type"
        body = answer.read()
    assert len(body) == int(answer.headers["Content-Length"]), "length"
    types, samples = parse(body.decode("utf-8"))
    check_histograms(types, samples)
    json.dump({"types": types, "samples": samples}, sys.stdout)


main()
