#!/usr/bin/env python3
"""check_trace.py TRACE RANKS [--complete]: checks a trace of lci_trace merge in the Trace Event Format.

Every flow begins at one post and ends at one arrival of the same message, and no post or arrival has two. With --complete
every message of the recordings has one.
"""
import collections
import json
import sys

NUMBER = (int, float)
MEMBERS = {
    "M": {"name": str, "pid": int, "args": dict},
    "X": {"name": str, "cat": str, "pid": int, "tid": int, "ts": NUMBER, "dur": NUMBER, "args": dict},
    "i": {"name": str, "cat": str, "pid": int, "tid": int, "ts": NUMBER, "s": str, "args": dict},
    "s": {"name": str, "cat": str, "pid": int, "tid": int, "ts": NUMBER, "id": int},
    "f": {"name": str, "cat": str, "pid": int, "tid": int, "ts": NUMBER, "id": int, "bp": str},
}
NO_MESSAGES = ("put", "get", "remote add")


def main():
    path, ranks, *rest = sys.argv[1:]
    with open(path) as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    by_phase = collections.defaultdict(list)
    for event in events:
        members = MEMBERS[event["ph"]]
        for name, kind in members.items():
            assert isinstance(event.get(name), kind), (name, event)
        assert event.get("ts", 0) >= 0 and event.get("dur", 1) > 0, event
        by_phase[event["ph"]].append(event)

    names = {event["pid"]: event["args"]["name"] for event in by_phase["M"] if event["name"] == "process_name"}
    assert sorted(names) == list(range(int(ranks))), names
    threads = {(event["pid"], event["tid"]) for event in by_phase["M"] if event["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in by_phase["X"] + by_phase["i"]} <= threads

    def slices(category):
        found = {}
        for event in by_phase["X"]:
            if event["cat"] != category or event["name"] in NO_MESSAGES or event["name"] == "refused":
                continue
            place = event["pid"], event["tid"], event["ts"]
            assert place not in found, ("two slices at one place", event, found.get(place))
            found[place] = event
        return found

    posts, arrivals = slices("post"), slices("arrival")
    begins = {event["id"]: event for event in by_phase["s"]}
    ends = {event["id"]: event for event in by_phase["f"]}
    assert len(begins) == len(by_phase["s"]) and len(ends) == len(by_phase["f"])
    assert begins.keys() == ends.keys()
    from_post, to_arrival = set(), set()
    for flow, begin in begins.items():
        place = begin["pid"], begin["tid"], begin["ts"]
        other = ends[flow]["pid"], ends[flow]["tid"], ends[flow]["ts"]
        post, arrival = posts[place], arrivals[other]
        assert place not in from_post and other not in to_arrival, flow
        from_post.add(place)
        to_arrival.add(other)
        assert arrival["name"] in ("arrival: " + post["name"], "notification: " + post["name"]), (post, arrival)
        assert post["args"]["peer"] == arrival["pid"] and arrival["args"]["peer"] == post["pid"]
        assert post["args"]["detail"] == arrival["args"]["detail"]
        if arrival["name"].startswith("arrival"):
            for member in ("tag", "size"):
                assert post["args"][member] == arrival["args"][member], (post, arrival)
        assert begin["ts"] <= ends[flow]["ts"], (begin, ends[flow])
    if "--complete" in rest:
        lost = [event for place, event in posts.items() if place not in from_post]
        lost += [event for place, event in arrivals.items() if place not in to_arrival]
        assert not lost, lost[:3]
    kinds = collections.Counter(event["name"] for event in by_phase["X"] + by_phase["i"])
    print(len(events), "events,", len(begins), "flows;", dict(kinds))


main()
