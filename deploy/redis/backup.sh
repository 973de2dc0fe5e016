#!/bin/sh
# Copies the append-only file of a Redis that goes on: `backup.sh TARGET`, run in the directory of its data. A log is only
# ever added to, so what is copied of it is what Redis had at one moment, but for the last transaction, which may be torn:
# start.sh cuts that off. While a rewrite changes which files the log is made of, a copy could lack some of it: the
# manifest then reads differently afterwards, and the copy is made again. Of a node of a cluster its nodes.conf is copied too:
# it says which slots the node serves.
set -eu
umask 077
files=appendonlydir
manifest=$files/appendonly.aof.manifest
copy=$1/$files

[ ! -e "$copy" ] || { echo "there is a copy already: $copy" >&2; exit 1; }
mkdir -p "$1"
tries=0
until before=$(cat $manifest) && cp -R $files "$1" && [ "$before" = "$(cat $manifest)" ]; do
	rm -rf "$copy"
	tries=$((tries + 1))
	[ $tries -lt 10 ] || { echo "the log could not be copied to $1" >&2; exit 1; }
done
[ ! -e nodes.conf ] || cp nodes.conf "$1"
