import os
import tempfile
import time
import unittest

import launching
from testing import write_script


def is_running(process):
    """A zombie is not."""
    try:
        with open("/proc/%d/stat" % process, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class RunProgramsTest(unittest.TestCase):
    def test_returns_what_the_last_one_prints(self):
        text = launching.run_programs([["sh", "-c", "echo server"], ["sh", "-c", "echo $WORD"]], 20, {"WORD": "client"})
        self.assertEqual(text, "client\n")

    def test_waits_for_the_others_to_be_ready(self):
        with tempfile.TemporaryDirectory() as folder:
            flag = os.path.join(folder, "flag")

            def ready():
                while not os.path.exists(flag):
                    time.sleep(0.001)

            text = launching.run_programs([["touch", flag], ["ls", folder]], 20, ready=ready)
        self.assertEqual(text, "flag\n")

    def test_says_which_failed_and_what_it_wrote(self):
        with self.assertRaisesRegex(launching.LaunchError, "^sh: exit code 3: no such rank$"):
            launching.run_programs([["sh", "-c", "echo no such rank >&2; exit 3"]], 20)
        with self.assertRaisesRegex(launching.LaunchError, "exit code 1: it says nothing"):
            launching.run_programs([["false"], ["true"]], 20)
        with self.assertRaisesRegex(launching.LaunchError, "/no/such/program: No such file"):
            launching.run_programs([["/no/such/program"]], 20)

    def test_ends_all_of_them_when_they_take_too_long(self):
        with tempfile.TemporaryDirectory() as folder:
            noted = os.path.join(folder, "process")
            script = "sleep 1000 & echo $! > %s.new; mv %s.new %s; wait" % (noted, noted, noted)

            def ready():
                while not os.path.exists(noted):
                    time.sleep(0.001)

            with self.assertRaisesRegex(launching.LaunchError, "sleep: not done after 0.2 s"):
                launching.run_programs([["sh", "-c", script], ["sleep", "1000"]], 0.2, ready=ready)
            with open(noted, encoding="ascii") as file:
                grandchild = int(file.read())
            # It has its signal; that it is gone takes the kernel a moment.
            while is_running(grandchild):
                time.sleep(0.001)
        self.assertFalse(is_running(grandchild))


class ProbeTest(unittest.TestCase):
    def test_reads_the_distance(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(launching.probe_distance(write_script(folder, "probe", ["echo 63.5"])), 63.5)

    def test_names_what_is_no_distance(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(launching.LaunchError, "'far away.n', which is no distance"):
                launching.probe_distance(write_script(folder, "probe", ["echo far away"]))


class OtherWorkTest(unittest.TestCase):
    def test_our_own_work_is_not_others(self):
        self.assertGreater(launching.own_seconds(), 0)
        busy, total = launching.processor_times()
        self.assertLess(0, busy)
        self.assertLessEqual(busy, total)
        share = launching.OtherWork().share()
        self.assertGreaterEqual(share, 0)
        self.assertLessEqual(share, 1)


if __name__ == "__main__":
    unittest.main()
