# Completions of envdoc for fish. envdoc itself gives the candidates, so that they are those of its catalog.

function __envdoc_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    # The token as typed: its quotes may be open, which `string unescape` refuses.
    set -l current (commandline --current-token --cut-at-cursor | string replace --regex --all '[\'"\\\\]' '')
    ENVDOC complete --index (count $words) -- $words "$current" 2>/dev/null
end

complete --command envdoc --no-files --keep-order --arguments '(__envdoc_complete)'
