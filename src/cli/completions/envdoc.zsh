#compdef envdoc
# Completions of envdoc for zsh. envdoc itself gives the candidates, so that they are those of its catalog.

_envdoc() {
    local line entry
    local -a plain open before
    before=("${(@Q)words[1,CURRENT-1]}")
    for line in "${(@f)$(ENVDOC complete --index $((CURRENT - 1)) -- "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        # _describe takes VALUE:DESCRIPTION.
        entry=${${line%%$'\t'*}//:/\\:}
        [[ $line != *$'\t'* ]] || entry+=:${line#*$'\t'}
        case ${line%%$'\t'*} in
        *[/:=,]) open+=("$entry") ;;
        *) plain+=("$entry") ;;
        esac
    done
    _describe -V envdoc plain -- open -S ''
}

# A file below fpath is the function itself; where the file is sourced, it registers the function.
if [[ $funcstack[1] == _envdoc ]]; then
    _envdoc "$@"
else
    compdef _envdoc envdoc
fi
