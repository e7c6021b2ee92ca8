#!/bin/sh
# Put Claude Code and Codex CLI where sandboxes show them read-only; needs npm. About 0.8 GB.
#
#     sh tools/agent_clis.sh [FOLDER]      # default: .venv/agents
set -eu
folder=${1:-.venv/agents}
npm install --silent --no-audit --no-fund --prefix "$folder" \
    @anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0
mkdir -p "$folder/bin"
cd "$folder"
# The programs themselves and not the scripts that start them: those would need Node inside.
claude=$(find node_modules/@anthropic-ai -type f -name claude -perm -u+x | head -n 1)
codex=$(find node_modules/@openai -type f -path '*/bin/codex' -perm -u+x | head -n 1)
test -n "$claude" && test -n "$codex"
ln -sf "../$claude" bin/claude
ln -sf "../$codex" bin/codex
bin/claude --version
bin/codex --version
