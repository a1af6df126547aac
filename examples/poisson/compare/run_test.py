import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import unittest

sys.dont_write_bytecode = True
_LOADER = importlib.machinery.SourceFileLoader("run", os.path.join(os.path.dirname(os.path.abspath(__file__)), "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", _LOADER))
_LOADER.exec_module(run)


def results(**microseconds):
    """mode=[us of each round], with one slab; with two, all take twice as long, but pscw half."""
    made = {}
    for mode, all_times in microseconds.items():
        for slabs, factor in ((1, 1), (2, 0.5 if mode == "pscw" else 2)):
            made[mode, slabs] = [
                dict({"us_" + work: number for number, work in enumerate(run.WORK)}, us_per_iteration=factor * time)
                for time in all_times
            ]
    return made


SOME = results(notified=[10, 11, 12], messages=[20, 20, 20], alltoallv=[30, 22, 36], ialltoallv=[40, 40, 40],
               pscw=[100, 100, 100])


class Run(unittest.TestCase):

    def test_of_each_mode_the_best_number_of_slabs_counts(self):
        self.assertEqual(run.best_slabs(SOME, "notified"), 1)
        self.assertEqual(run.best_slabs(SOME, "pscw"), 2)

    def test_ratios_are_of_the_same_round(self):
        self.assertEqual(run.best_of(SOME, run.TWO_SIDED), "alltoallv")
        self.assertEqual(run.ratios(SOME, "alltoallv"), (3, 2, 3))

    def test_report(self):
        text = run.report([("16", 2, SOME)])
        self.assertIn("| 16, 2 | 11 (1) | 20 (1) | 30 (1) | 40 (1) | 50 (2) | 3.00 (2.00-3.00) | "
                      "4.55 (4.17-5.00) |", text)
        self.assertIn("| 16, 2 | notified | 0 | 1 | 2 | 3 | 4 | 5 | 6 |", text)

    def test_commands(self):
        paths = {"lcrun": "L", "poisson": "P", "poisson_mpi": "M"}
        self.assertEqual(run.command_of(paths, "notified", 1, ["--slabs", "2"]),
                         "L -n 1 --bind-to core P --mode notified --json --report --slabs 2".split())
        self.assertEqual(run.command_of(paths, "pscw", 100000, []),
                         ("mpirun.openmpi -n 100000 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 M "
                          "--mode pscw --json --report").split())

    def test_says_what_is_wrong_with_arguments(self):
        for words in (["--ranks", "x"], ["--ranks", "0"], ["--slabs", ""], ["--rounds", "0"], ["--seconds", "0"]):
            errors = io.StringIO()
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(errors):
                run.parse_arguments(words)
            self.assertIn(words[0], errors.getvalue())


if __name__ == "__main__":
    unittest.main()
