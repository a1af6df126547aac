#!/usr/bin/env bash
# Runs Python's unittest of a file. usage: run_test.sh FILE_test.py
exec python3 -B "$1"
