"""Stands in for redis-cli, which no package of the tests has in a form that runs: SOCKET [options] COMMAND."""

import sys
from argparse import ArgumentParser

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("--user")
    parser.add_argument("--pass", dest="password")
    parser.add_argument("--no-auth-warning", action="store_true")
    parser.add_argument("command", choices=["ping"])
    args = parser.parse_args()
    login = {"username": args.user, "password": args.password}
    with redis.Redis(unix_socket_path=args.socket, retry=Retry(NoBackoff(), 0), **login) as client:
        sys.stdout.write("PONG\n" if client.ping() else "\n")


if __name__ == "__main__":
    main()
