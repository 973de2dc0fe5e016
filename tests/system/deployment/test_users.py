"""The users of deploy/redis/users.acl: a Redis that restarts with them keeps every write."""

from pathlib import Path

from dcf.store.connection.connections import Connections, open_pool
from lab.redis_servers import LabRedis, Users
from tests.support.workflows.machines import chain
from tests.support.world import World


def test_a_restart_with_these_users_loses_nothing(tmp_path: Path) -> None:
    """Redis reads its log as the user `default`, and drops each transaction that this user may not carry out."""
    users = Users.drawn()
    with LabRedis(tmp_path, "--appendonly", "yes", "--appendfsync", "always", users=users) as lab_redis:
        world = World(connections=Connections(open_pool(f"redis://{users.login()}127.0.0.1:{lab_redis.port}")))
        run = world.create(chain("A", "B"), agents={"B": "b"})
        world.do(run, "A", output={"x": 1})
        world.notifications.deliver(run)
        before = world.docs(run), world.events(run), world.messages("b")
        lab_redis.kill()
        lab_redis.start()
        assert (world.docs(run), world.events(run), world.messages("b")) == before
        world.connections.close()
