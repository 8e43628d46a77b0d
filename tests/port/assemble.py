#!/usr/bin/env python3
"""Assemble one NN-image folder as an OCI image layout, without a network: assemble.py IMAGE_FOLDER OUT [--pad MIB]

OUT gets oci-layout, index.json and blobs/sha256/*. Same input, same bytes. --pad puts a file of that many MiB of
incompressible bytes into every layer of more than 1 GB claimed size, to measure how much of an image a tool reads.
"""
import argparse, gzip, hashlib, io, json, os, random, tarfile
import yaml

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument('folder')
p.add_argument('out')
p.add_argument('--pad', type=int, default=0)
a = p.parse_args()
image = yaml.safe_load(open(f'{a.folder}/image.yaml'))
os.makedirs(f'{a.out}/blobs/sha256', exist_ok=True)


def blob(data):
    digest = hashlib.sha256(data).hexdigest()
    with open(f'{a.out}/blobs/sha256/{digest}', 'wb') as f:
        f.write(data)
    return f'sha256:{digest}', len(data)


def contents(step):
    """(path, bytes) of one layer: files, dist-info folders, whiteouts."""
    for f in step.get('files', ()):
        yield f['path'], f['text'].encode()
    for d in step.get('dist_info', ()):
        folder = f"{d['site']}/{d['name'].replace('-', '_')}-{d['version']}.dist-info"
        lines = ['Metadata-Version: 2.1', f"Name: {d['name']}", f"Version: {d['version']}", *(f'Requires-Dist: {r}' for r in d.get('requires', ()))]
        yield f'{folder}/METADATA', ('\n'.join(lines) + '\n').encode()
        yield f'{folder}/INSTALLER', b'pip\n'
        yield f'{folder}/RECORD', f"{folder.split('/')[-1]}/METADATA,,\n".encode()
    for w in step.get('whiteouts', ()):
        yield w, b''
    if a.pad and step['claimed_size'] > 1_000_000_000:
        yield 'usr/share/pad.bin', random.Random(step['created_by']).randbytes(a.pad << 20)


layers, diff_ids, history = [], [], []
for step in image['history']:
    history.append({'created_by': step['created_by'], 'created': '2026-11-21T00:00:00Z', **({'empty_layer': True} if step.get('empty_layer') else {})})
    if step.get('empty_layer'):
        continue
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode='w', format=tarfile.PAX_FORMAT) as tar:
        for path, data in sorted(contents(step)):
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    diff_ids.append('sha256:' + hashlib.sha256(raw.getvalue()).hexdigest())
    digest, size = blob(gzip.compress(raw.getvalue(), mtime=0))
    layers.append({'mediaType': 'application/vnd.oci.image.layer.v1.tar+gzip', 'digest': digest, 'size': size})

system, arch = image['platform'].split('/')
config, size = blob(json.dumps({'created': '2026-11-21T00:00:00Z', 'architecture': arch, 'os': system, 'config': image['config'],
                                'rootfs': {'type': 'layers', 'diff_ids': diff_ids}, 'history': history}).encode())
manifest, msize = blob(json.dumps({'schemaVersion': 2, 'mediaType': 'application/vnd.oci.image.manifest.v1+json',
                                   'config': {'mediaType': 'application/vnd.oci.image.config.v1+json', 'digest': config, 'size': size}, 'layers': layers}).encode())
with open(f'{a.out}/oci-layout', 'w') as f:
    json.dump({'imageLayoutVersion': '1.0.0'}, f)
with open(f'{a.out}/index.json', 'w') as f:
    json.dump({'schemaVersion': 2, 'manifests': [{'mediaType': 'application/vnd.oci.image.manifest.v1+json', 'digest': manifest, 'size': msize,
                                                  'platform': {'os': system, 'architecture': arch}, 'annotations': {'org.opencontainers.image.ref.name': image['name']}}]}, f)
print(image['name'], manifest, sum(l['size'] for l in layers), 'bytes in', len(layers), 'layers')
