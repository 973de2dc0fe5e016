#!/bin/sh
# Starts Redis with the users of users.acl: an ACL file cannot read the environment, so it is rendered first, with
# digests, so that no password is written anywhere. With DCF_DOCUMENTS=text they get no commands of RedisJSON, which a
# server without that module refuses to start with. The image's own entry point then loads the modules. Before that, a
# transaction that a power loss tore is cut off the log: see docs/decisions/storage/durability.md. Redis is told not to start with
# a torn log, which tells dcf's health report that logs are checked here.
set -eu
: "${REDIS_PASSWORD:?set it to the password of the user dcf}"
: "${REDIS_OPERATOR_PASSWORD:?set it to the password of the user operator}"
acl=${REDIS_ACL_FILE:-/tmp/users.acl}

digest() {
	printf %s "$1" | sha256sum | cut -c 1-64
}

umask 077
without=$([ "${DCF_DOCUMENTS:-auto}" = text ] && echo 's/ +json\.[a-z]*//g' || echo)
sed -e '/^#/d' -e ':more' -e '/\\$/{N;s/ *\\\n */ /;b more' -e '}' "${0%/*}/users.acl" |
	sed -e "$without" -e "s/{dcf}/$(digest "$REDIS_PASSWORD")/" -e "s/{operator}/$(digest "$REDIS_OPERATOR_PASSWORD")/" >"$acl"
unset REDIS_PASSWORD REDIS_OPERATOR_PASSWORD

for manifest in appendonlydir/*.manifest; do
	[ -e "$manifest" ] || continue
	# A log that is broken otherwise is left to Redis, which says so and does not start.
	echo y | redis-check-aof --fix "$manifest" >&2 || echo "the log could not be checked: $manifest" >&2
done
exec docker-entrypoint.sh "$@" --aof-load-truncated no --aclfile "$acl"
