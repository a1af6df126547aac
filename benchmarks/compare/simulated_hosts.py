"""Two hosts on this machine, whose network namespaces are joined by a cable (a veth pair)."""

import os
import shlex
import subprocess
import time

from launching import LaunchError

COUNT = 2


class SimulatedHosts:
    """Context manager: the hosts are there inside of it. LaunchError if they cannot be made (who is not root)."""

    def __init__(self, folder):
        self.names = ["lci%d%s" % (os.getpid(), letter) for letter in "ab"]
        # How launchers start a program on a host: AGENT [OPTION]... HOST WORD..., as ssh takes them. Such a program has a host
        # name and a /dev/shm of its own.
        self.agent = os.path.join(os.path.abspath(folder), "host_agent")

    def __enter__(self):
        first, second = self.names
        try:
            for name in self.names:
                self._ip("netns", "add", name)
                self._ip("-n", name, "link", "set", "lo", "up")
            self._ip("-n", first, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", second)
            for number, name in enumerate(self.names, 1):
                self._ip("-n", name, "addr", "add", "10.98.0.%d/24" % number, "dev", "eth0")
                self._ip("-n", name, "link", "set", "eth0", "up")
            self._wait_for_links()
        except LaunchError:
            self.__exit__()
            raise
        os.makedirs(os.path.dirname(self.agent), exist_ok=True)
        with open(self.agent, "w", encoding="ascii") as file:
            file.write(
                "#!/bin/sh\n"
                "PATH=$PATH:/usr/sbin:/sbin\n"
                'while [ "${1#-}" != "$1" ]; do shift; done\n'
                'host=$1; shift\n'
                'exec ip netns exec "$host" unshare --uts --mount sh -c \''
                'hostname "$0" && mount -t tmpfs none /dev/shm && exec sh -c "$*"\' "$host" "$@"\n')
        os.chmod(self.agent, 0o755)
        return self

    def __exit__(self, *_):
        for name in self.names:
            try:
                for pid in self._ip("netns", "pids", name).split():
                    os.kill(int(pid), 9)
                self._ip("netns", "del", name)
            except (LaunchError, ProcessLookupError):
                continue

    def command_on_first(self, words):
        """The words that run a command on the first host."""
        return [self.agent, self.names[0]] + [shlex.quote(word) for word in words]

    def _wait_for_links(self, timeout=10.0):
        """Until then libraries take the loopback for the only interface."""
        deadline = time.monotonic() + timeout
        while not all("state UP" in self._ip("-n", name, "-o", "link", "show", "eth0") for name in self.names):
            if time.monotonic() > deadline:
                raise LaunchError("hosts cannot be simulated here: the cable between them stays down")
            time.sleep(0.01)

    @staticmethod
    def _ip(*words):
        environment = dict(os.environ, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        try:
            done = subprocess.run(("ip",) + words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, check=False)
        except OSError as error:
            raise LaunchError("ip (package iproute2): %s" % error.strerror) from None
        if done.returncode != 0:
            raise LaunchError("hosts cannot be simulated here: ip %s: %s" % (" ".join(words), done.stderr.strip()))
        return done.stdout
