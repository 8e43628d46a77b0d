# shellcheck shell=bash disable=SC2034,SC2154
# What is in a base image of one's own is asked of the image itself
engine_start && image || return 1
system=$(. /etc/os-release && echo "$ID$VERSION_ID")
series=$(docker run --rm lab:base python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
builds --base-image lab:base --torch 2.8 --dry-run
check_that "status 0" ended_with 0
check_that "its system and its Python are named" grep -qF "in lab:base: $system, Python $series (/usr/bin/python3)" <<<"$answer$error"
check_that "the Dockerfile is for its Python" grep -qF "FROM lab:base" <<<"$answer"
check_that "no container is left behind" test -z "$(docker ps --all --quiet)"
builds --base-image lab:base --os ubuntu22.04 --torch 2.8 --dry-run
check_that "another --os: status 2" ended_with 2
check_that "another --os: it names both" grep -qF "lab:base is $system, but --os is ubuntu22.04" <<<"$error"
builds --base-image lab:none --torch 2.8 --dry-run
check_that "an image that is not there: status 2" ended_with 2
check_that "an image that is not there: what to type" grep -qF "docker pull lab:none" <<<"$error"
printf 'FROM lab:base\nRUN rm -f /etc/os-release /usr/lib/os-release\n' | docker build --quiet --tag lab:nameless - >/dev/null 2>&1
builds --base-image lab:nameless --torch 2.8 --dry-run
check_that "an image that does not say what it is: status 2" ended_with 2
printf 'FROM scratch\nCOPY --from=lab:base /etc/hostname /\n' | docker build --quiet --tag lab:shellless - >/dev/null 2>&1
builds --base-image lab:shellless --torch 2.8 --dry-run
check_that "an image without a shell: status 2" ended_with 2
check_that "no container is left behind" test -z "$(docker ps --all --quiet)"
