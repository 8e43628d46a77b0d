# shellcheck shell=bash disable=SC2034,SC2154
# An image for two processors with provenance and zstd layers, and content that its registry changed, from a real registry
root=$LAB/index-registry
printf 'version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: 127.0.0.1:5003\n' "$root" >"$LAB/index-registry.yml"
docker-registry serve "$LAB/index-registry.yml" >"$LAB/index-registry.log" 2>&1 &
registry_pid=$!
for _ in $(seq 100); do
    curl -s -o /dev/null http://127.0.0.1:5003/v2/ && break
    sleep 0.1
done
repository=http://127.0.0.1:5003/v2/team/several
digest_of() { printf 'sha256:%s' "$(sha256sum <"$1" | cut -d' ' -f1)"; }
# Uploads a file as a blob.
blob() {
    local where
    where=$(curl -s -i -X POST "$repository/blobs/uploads/" | tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
    case $where in /*) where=http://127.0.0.1:5003$where ;; esac
    curl -s -f -o /dev/null -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$1" "$where&digest=$(digest_of "$1")"
}
manifest() { curl -s -f -o /dev/null -X PUT -H "Content-Type: $1" --data-binary "@$2" "$repository/manifests/$3"; }
descriptor() { printf '{"mediaType":"%s","digest":"%s","size":%s}' "$1" "$(digest_of "$2")" "$(stat -c %s "$2")"; }
oci=application/vnd.oci.image
mkdir -p "$LAB/several" && cd "$LAB/several" || return 1
# The magic number of zstd, and no more: a layer is never unpacked.
printf '\x28\xb5\x2f\xfdlayer' >layer
printf '{}' >statement
blob layer && blob statement || return 1
for architecture in amd64 arm64; do
    torch=2.5.1+cu124
    [ "$architecture" = amd64 ] || torch=2.8.0+cu128
    printf '{"architecture":"%s","os":"linux","config":{"Labels":{"envdoc.torch":"%s"}},"rootfs":{"type":"layers","diff_ids":["%s"]}}' \
        "$architecture" "$torch" "$(digest_of layer)" >"config-$architecture"
    printf '{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}' "$oci.manifest.v1+json" \
        "$(descriptor "$oci.config.v1+json" "config-$architecture")" "$(descriptor "$oci.layer.v1.tar+zstd" layer)" >"manifest-$architecture"
    blob "config-$architecture" && manifest "$oci.manifest.v1+json" "manifest-$architecture" "$(digest_of "manifest-$architecture")" || return 1
done
# What buildx adds for provenance: a manifest of its own in the index, for no platform.
printf '{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}' "$oci.manifest.v1+json" \
    "$(descriptor "$oci.config.v1+json" statement)" "$(descriptor application/vnd.in-toto+json statement)" >attestation
manifest "$oci.manifest.v1+json" attestation "$(digest_of attestation)" || return 1
of_platform() { descriptor "$oci.manifest.v1+json" "$1" | sed 's/}$/,"platform":{"architecture":"'"$2"'","os":"'"$3"'"}}/'; }
printf '{"schemaVersion":2,"mediaType":"%s","manifests":[%s,%s,%s]}' "$oci.index.v1+json" "$(of_platform attestation unknown unknown)" \
    "$(of_platform manifest-amd64 amd64 linux)" "$(of_platform manifest-arm64 arm64 linux)" >index
manifest "$oci.index.v1+json" index 1 || return 1
cd - >/dev/null || return 1

envdoc inspect --remote 127.0.0.1:5003/team/several:1
check_that "an index: status 0" ended_with 0
check_that "an index: the image of this processor, not the provenance" grep -q "torch .*2.5.1+cu124" <<<"$answer"
envdoc inspect --remote 127.0.0.1:5003/team/several:1 --arch aarch64
check_that "an index: that of another processor" grep -q "torch .*2.8.0+cu128" <<<"$answer"
envdoc inspect --remote 127.0.0.1:5003/team/several:1 --from ../servers/healthy-gb200-nvl-aarch64.json
check_that "an index: the image of the machine's processor" grep -q "torch .*2.8.0+cu128" <<<"$answer"
check_that "an index: no mismatch of processors" eval '! grep -q image-architecture-mismatch <<<"$answer"'
envdoc inspect --remote "127.0.0.1:5003/team/several@$(digest_of "$LAB/several/manifest-arm64")" --format json
check_that "by digest: status 0" ended_with 0

# The registry's disk has another configuration of the same length than the digest names.
stored=$root/docker/registry/v2/blobs/sha256
name=$(digest_of "$LAB/several/config-amd64") && name=${name#sha256:}
sed -i 's/2.5.1+cu124/2.9.9+cu124/' "$stored/${name:0:2}/$name/data"
envdoc inspect --remote 127.0.0.1:5003/team/several:1
check_that "a changed configuration: status 2" ended_with 2
check_that "a changed configuration: the digest that was expected" grep -q "$name" <<<"$error"
check_that "a changed configuration: nothing of it is shown" eval '! grep -q 2.9.9 <<<"$answer$error"'
kill "$registry_pid" 2>/dev/null || true
