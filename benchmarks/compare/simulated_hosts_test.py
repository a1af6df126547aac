import os
import subprocess
import tempfile
import unittest

from launching import LaunchError
from simulated_hosts import SimulatedHosts


class SimulatedHostsTest(unittest.TestCase):
    def test_a_program_has_the_name_of_its_host_and_reaches_the_other_one(self):
        with tempfile.TemporaryDirectory() as folder:
            try:
                hosts = SimulatedHosts(os.path.join(folder, "a folder")).__enter__()
            except LaunchError as error:
                print("NOTHING WAS TESTED: %s" % error)
                return
            try:
                shown = subprocess.run(hosts.command_on_first(["printf", "%s|", "a  b", "$HOME"]), check=True,
                                       stdout=subprocess.PIPE, text=True).stdout
                self.assertEqual(shown, "a  b|$HOME|")
                # As ssh is called, with options and the command in one word.
                shown = subprocess.run([hosts.agent, "-x", hosts.names[1], "hostname; ls /dev/shm | wc -l"], check=True,
                                       stdout=subprocess.PIPE, text=True).stdout
                self.assertEqual(shown.split(), [hosts.names[1], "0"])
                listening = ("import socket; s = socket.create_server(('10.98.0.1', 5)); print('ready', flush=True); "
                             "s.accept()[0].sendall(b'heard')")
                server = subprocess.Popen(hosts.command_on_first(["python3", "-c", listening]), stdout=subprocess.PIPE)
                self.assertEqual(server.stdout.readline(), b"ready\n")
                asking = "import socket; print(socket.create_connection(('10.98.0.1', 5)).recv(9).decode())"
                words = [hosts.agent, hosts.names[1], "python3 -c \"%s\"" % asking]
                shown = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
                self.assertEqual(shown, "heard\n")
                server.communicate()
            finally:
                hosts.__exit__()
            left = subprocess.run(["ip", "netns"], check=True, stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin")).stdout
            self.assertFalse([name for name in hosts.names if name in left])


if __name__ == "__main__":
    unittest.main()
