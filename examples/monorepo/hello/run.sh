#!/usr/bin/env bash
# Starts hello on three ranks. usage: run.sh LCRUN HELLO
exec "$1" -n 3 --timeout 60 "$2"
