"""The command `dcf store move`."""

import json
from pathlib import Path

import redis

from dcf.store.keys import table as keys
from tests.cli.conftest import Dcf, plain_redis
from tests.support.redis.servers import LOAD_JSON


def test_documents_are_moved_and_the_record_says_so(dcf: Dcf, short_directory: Path) -> None:
    with plain_redis(short_directory, *LOAD_JSON) as place:
        own = {"REDIS_URL": f"unix://{place}", "DCF_DOCUMENTS": "json"}
        assert dcf("keys", "add", "--any-agent", **own).exit_code == 0
        with redis.Redis(unix_socket_path=str(place)) as client:
            client.set(keys.SERVER_TIME, client.time()[0] * 1_000_000)
            busy = dcf("store", "move", "--to", "text", **own)
            assert busy.exit_code == 4
            assert "Stop all processes of dcf" in busy.stderr
            client.delete(keys.SERVER_TIME)
            moved = dcf("store", "move", "--to", "text", "--json", **own)
            assert json.loads(moved.stdout) == {"documents": "text", "moved": 1}
            assert client.get(keys.DOCUMENT_FORM) == b"text"
        finished = dcf("store", "move", "--to", "json", **own)
        assert (finished.exit_code, finished.stdout) == (0, "")
        assert "documents in RedisJSON." in " ".join(finished.stderr.split())
        assert len(json.loads(dcf("keys", "ls", "--json", **own).stdout)) == 1
