# Completions of envdoc for bash. envdoc itself gives the candidates, so that they are those of its catalog.

_envdoc() {
    local line=$COMP_LINE part words=() i
    # bash splits words at `:` and `=` too (nvidia/cuda:12.4.1, --gpu=h100): what no blank separates is one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        part=${COMP_WORDS[i]}
        if ((i > 0)) && [[ -n $line && $line != [[:blank:]]* ]]; then
            words[${#words[@]} - 1]+=$part
        else
            line=${line#"${line%%[![:blank:]]*}"}
            words+=("$part")
        fi
        line=${line#"$part"}
    done
    local last=$((${#words[@]} - 1)) quoted=''
    case ${COMP_WORDS[COMP_CWORD]} in [\'\"]*) quoted=yes ;; esac
    # What is behind the cursor does not count.
    [[ ${COMP_WORDS[COMP_CWORD]} != *[!:=]* ]] || words[last]=${words[last]%"${COMP_WORDS[COMP_CWORD]}"}$2
    for i in "${!words[@]}"; do
        part=${words[i]//[\'\"]/}
        words[i]=${part//\\/}
    done

    COMPREPLY=()
    local candidate typed=${2//[\'\"]/}
    typed=${typed//\\/}
    [[ ${COMP_WORDS[COMP_CWORD]} == *[!:=]* ]] || typed=''
    local prefix=${words[last]%"$typed"}
    while IFS= read -r candidate; do
        candidate=${candidate%%$'\t'*}
        candidate=${candidate#"$prefix"}
        if [[ -z $quoted && $candidate == *[!A-Za-z0-9_./:=,+@%~-]* ]]; then
            printf -v candidate '%q' "$candidate"
        fi
        COMPREPLY+=("$candidate")
    done < <(ENVDOC complete --index "$last" -- "${words[@]}" 2>/dev/null)
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[/:=,] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -o nosort -F _envdoc envdoc 2>/dev/null || complete -F _envdoc envdoc
