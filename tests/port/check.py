#!/usr/bin/env python3
"""Judge produced patches against truth.yaml.

    check.py FOLDER [ID ...]    FOLDER/NN-slug/TARGET.diff     unified diff with a/ and b/ paths (patch -p1)
                                FOLDER/NN-slug/TARGET.verdict  first word: runs, cannot or unknown (optional)
                                FOLDER/NN-image/TARGET.Dockerfile  a thin layer: FROM the image, RUN pip install ... (optional)
    check.py --self             the expected diffs judged by the same rules, and damaged ones that must fail

For each patch: did it apply (no fuzz, on a copy)? did only accepted lines change? are the values accepted?
A missing, empty or header-only diff counts as "no patch". Exit 0: all well, 1: a failure, 2: cannot work.
--json prints one object a line. --only-present leaves out targets for which FOLDER has nothing.
"""
import argparse, difflib, json, os, re, shutil, subprocess, sys, tempfile
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))


def read_tree(folder, names=None):
    out = {}
    for base, _, files in os.walk(folder):
        for f in files:
            rel = os.path.relpath(os.path.join(base, f), folder)
            if names is None or rel in names:
                with open(os.path.join(base, f), 'rb') as h:
                    out[rel] = h.read().decode('utf-8', 'surrogateescape')
    return out


def apply(original, patch):
    """(files after the patch, None) or (None, why not)."""
    with tempfile.TemporaryDirectory() as tmp:
        for f, text in original.items():
            path = os.path.join(tmp, f)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'wb') as h:
                h.write(text.encode('utf-8', 'surrogateescape'))
        r = subprocess.run(['patch', '-p1', '--binary', '-s', '-F0', '--no-backup-if-mismatch', '-d', tmp], input=patch, capture_output=True)
        if r.returncode:
            return None, (r.stdout + r.stderr).decode(errors='replace').strip().split('\n')[0]
        return read_tree(tmp), None


# --- one way as a pattern over the whole file --------------------------------------------------------------------------
def pattern(template, groups):
    """Regex of one line: <<name>> becomes a group, two or more spaces before a # match any number of spaces."""
    out = ''
    for part in re.split(r'(<<\w+>>)', template):
        m = re.fullmatch(r'<<(\w+)>>', part)
        if m:
            groups.append(m.group(1))
            out += f'(?P<g{len(groups) - 1}>[^\r\n]+?)'
        else:
            out += re.sub(r'(?:\\ ){2,}(?=\\?#)', ' +', re.escape(part))
    return out


def file_pattern(way, name, text):
    eol = '\r\n' if '\r\n' in text else '\n'
    body, last = text.split(eol), ''
    if body[-1] == '':
        body.pop()
        last = eol
    groups, parts = [], []

    def inserted(n):
        for i in way.get('inserts', ()):
            if i['file'] == name and i['after_line'] == n:
                parts.extend((pattern(l, groups), 'must') for l in i['text'].split('\n'))

    inserted(0)
    for n, line in enumerate(body, 1):
        here = lambda kind: next((x for x in way.get(kind, ()) if x['file'] == name and x['line'] == n), None)
        edit, gone = here('edits'), here('deletes')
        for x in (edit, gone):
            if x and x['was'] != line:
                raise SystemExit(f'truth.yaml does not fit: {name}:{n} is {line!r}')
        if edit and edit.get('optional'):
            parts.append((f"(?:{re.escape(line)}|{pattern(edit['becomes'], groups)})", 'must'))
        elif edit:
            parts.append((pattern(edit['becomes'], groups), 'must'))
        elif gone:
            if gone.get('optional'):
                parts.append((re.escape(line), 'may'))
        else:
            parts.append((re.escape(line), 'must'))
        inserted(n)
    e = re.escape(eol)
    rx = ''.join(f'(?:{p}{e})' + ('?' if k == 'may' else '') for p, k in parts)
    if not last and rx.endswith(f'{e})'):
        rx = rx[:-len(e) - 1] + ')'
    return re.compile(rx), groups


# --- values ------------------------------------------------------------------------------------------------------------
def rule_ok(rule, value):
    items = [x for x in re.split(r'[;, ]+', value.strip('"\'')) if x]
    plain = [x[:-4] if x.endswith('+PTX') else x for x in items]
    return len(set(plain)) == len(plain) and set(rule['must']) <= set(plain) <= set(rule['must']) | set(rule['may'])


def values_ok(way, got):
    """None, or what is wrong with the captured values."""
    left = dict(got)
    for name, rule in way.get('rules', {}).items():
        if name in left and not rule_ok(rule, left.pop(name)):
            return f'{name}={got[name]} is against {rule}'
    for group in way.get('values', ()):
        names = set(group[0])
        mine = {k: left.pop(k) for k in list(left) if k in names or any(k in r for r in group)}
        if not any(all(v in (r[k] if isinstance(r.get(k), list) else [r.get(k)]) for k, v in mine.items()) for r in group):
            return ' '.join(f'{k}={v}' for k, v in sorted(mine.items())) + ' is in no accepted row'
    return f'no rule for {left}' if left else None


def judge(ways, old, new):
    """(way or None, lines ok, values ok, remark). The best way wins."""
    best = (None, False, False, '')
    for way in ways:
        free, got, fits = set(way.get('free_files', ())), {}, set(old) >= set(new) - set(way.get('free_files', ()))
        where = '' if fits else f'files come or go: {sorted(set(new) ^ set(old))}'
        for name, text in old.items():
            if name in free:
                continue
            if name not in new:
                fits, where = False, f'{name} is gone'
                break
            rx, groups = file_pattern(way, name, text)
            m = rx.fullmatch(new[name])
            if not m:
                fits = False
                where = where or first_stray(way, name, text, new[name])
                break
            for n, var in enumerate(groups):
                value = m.group(f'g{n}')
                if value is None:
                    continue
                if got.setdefault(var, value) != value:
                    fits, where = False, f'{var} is {got[var]} in one place and {value} in another'
        if not fits:
            if best[0] is None and not best[1]:
                best = (None, False, False, best[3] or where)
            continue
        wrong = values_ok(way, got)
        if wrong is None:
            return way['way'], True, True, ' '.join(f'{k}={v}' for k, v in sorted(got.items()))
        if not best[1]:
            best = (way['way'], True, False, wrong)
    return best


def first_stray(way, name, old, new):
    """The first changed line that the way does not name."""
    a, b = old.splitlines(keepends=True), new.splitlines(keepends=True)
    may = {x['line'] for k in ('edits', 'deletes') for x in way.get(k, ()) if x['file'] == name}
    slots = {x['after_line'] for x in way.get('inserts', ()) if x['file'] == name}
    touched = set()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == 'equal':
            continue
        lines = set(range(i1 + 1, i2 + 1))
        touched |= lines
        if tag == 'insert' and i1 not in slots:
            return f'{name}: {j2 - j1} line(s) put in after {i1}: {b[j1].rstrip()!r}'
        if lines - may:
            n = min(lines - may)
            return f'{name}:{n} changed and should not: {a[n - 1].rstrip()!r}'
    if may - touched:
        n = min(may - touched)
        return f'{name}:{n} should change and did not: {a[n - 1].rstrip()!r}'
    return f'{name}: the accepted lines changed, but not in an accepted form'


# --- thin layers for images --------------------------------------------------------------------------------------------
def judge_thin(target, image, text):
    code = re.sub(r'\\\r?\n', ' ', re.sub(r'(?m)^\s*#.*\n', '', text))
    lines = [l.strip() for l in code.splitlines() if l.strip()]
    froms = [l.split()[-1] for l in lines if l.upper().startswith('FROM ')]
    if froms != [image]:
        return False, False, f'FROM {froms}, wanted {image}'
    if 'thin_layer' not in target:
        return False, False, 'no layer is the right answer: ' + target.get('no_patch', 'it runs')
    spec = target['thin_layer']
    odd = [l for l in lines if l.split()[0].upper() not in ('FROM', 'RUN', 'LABEL', 'USER', 'ENV')]
    pins = dict((n.lower().replace('_', '-'), v) for n, v in re.findall(r'(?<![\w.-])([A-Za-z][\w.-]*)={1,2}([\w.+]+)', ' '.join(l for l in lines if l.upper().startswith('RUN'))))
    pins = {'torch' if n == 'pytorch' else n: v for n, v in pins.items()}
    moves = [m.rstrip('*') for m in spec['moves']]
    strange = [n for n in pins if n != 'pytorch-cuda' and not any(n == m or (m.endswith('-') and n.startswith(m)) for m in moves)]
    if odd or strange:
        return False, False, f'moves more than the torch stack: {odd + strange}'
    cu = re.search(r'whl/(cu\d+)', code) or re.search(r'\+(cu\d+)', code)
    cu = cu.group(1) if cu else ('cu' + pins['pytorch-cuda'].replace('.', '') if 'pytorch-cuda' in pins else None)
    bare = {n: v.split('+')[0] for n, v in pins.items()}
    got = {'torch': bare.get('torch'), 'vision': bare.get('torchvision'), 'audio': bare.get('torchaudio')}
    for row in spec['values']:
        if all(str(row[k]) == got[k] for k in got if k in row) and (cu in row['cu'] if isinstance(row.get('cu'), list) else cu == row.get('cu')):
            return True, True, f"torch {got['torch']} {cu or 'PyPI'}"
    return True, False, f'{got} {cu} is in no accepted row'


# --- the run -----------------------------------------------------------------------------------------------------------
def entry(id, target, applied, lines, values, remark, verdict=None):
    ok = applied is not False and lines is not False and values is not False and verdict is not False
    return dict(id=id, target=target, ok=ok, applied=applied, only_accepted_lines=lines, accepted_values=values, verdict=verdict, remark=remark)


def run(truth, out, ids, only_present):
    for d in truth['dockerfiles'] + truth['images']:
        if ids and not any(d['id'].startswith(i) for i in ids):
            continue
        for name, t in d['targets'].items():
            stem = os.path.join(out, d['id'], name)
            verdict, present = None, False
            if os.path.exists(stem + '.verdict'):
                present = True
                words = open(stem + '.verdict').read().split()
                verdict = bool(words) and words[0] in t.get('accept_verdicts', [t['verdict']])
            if 'files' not in d:
                if os.path.exists(stem + '.Dockerfile'):
                    image = yaml.safe_load(open(os.path.join(HERE, d['id'], 'image.yaml')))['name']
                    lines, values, remark = judge_thin(t, image, open(stem + '.Dockerfile').read())
                    yield entry(d['id'], name, None, lines, values, remark, verdict)
                elif present or not only_present:
                    yield entry(d['id'], name, None, None, None, 'no layer given', verdict)
                continue
            patch = open(stem + '.diff', 'rb').read() if os.path.exists(stem + '.diff') else b''
            has = b'\n@@' in b'\n' + patch
            if only_present and not has and not present and not os.path.exists(stem + '.diff'):
                continue
            if not has:
                if 'accept' in t:
                    yield entry(d['id'], name, None, False, False, 'a patch is wanted', verdict)
                else:
                    yield entry(d['id'], name, None, True, True, 'no patch, as it should be', verdict)
                continue
            old = read_tree(os.path.join(HERE, d['id']), set(d['files']))
            new, why = apply(old, patch)
            if new is None:
                yield entry(d['id'], name, False, False, False, why, verdict)
            elif 'accept' not in t and 'tolerate' not in t:
                yield entry(d['id'], name, True, False, False, 'no patch is wanted: ' + t['no_patch'], verdict)
            else:
                way, lines, values, remark = judge(t.get('accept', t.get('tolerate')), old, new)
                yield entry(d['id'], name, True, lines, values, (f'[{way}] ' if way else '') + ('tolerated: ' if 'accept' not in t else '') + remark, verdict)


def damaged(old, new):
    """Patched files with a fault each: all of them must fail."""
    changed = sorted(f for f in new if new[f] != old[f])
    f, text = changed[0], new[changed[0]]
    eol = '\r\n' if '\r\n' in text else '\n'
    yield 'empty line at the end', dict(new, **{f: text + eol})
    yield 'comment added', dict(new, **{f: '# ported' + eol + text})
    yield 'other line ends', dict(new, **{f: text.replace('\r\n', '\n') if eol == '\r\n' else text.replace('\n', '\r\n')})
    yield 'file added', dict(new, **{'Dockerfile.orig': 'x\n'})
    yield 'nothing changed', dict(old)
    a, b = old[f].split(eol), text.split(eol)
    n = next(i for i in range(max(len(a), len(b))) if a[i:i + 1] != b[i:i + 1])
    if len(a) == len(b):
        digits = re.search(r'\d+(?=\D*$)', b[n])
        if digits:
            b[n] = b[n][:digits.start()] + '97' + b[n][digits.end():]
            yield 'last number of the first changed line', dict(new, **{f: eol.join(b)})


def self_test(truth):
    bad = 0
    for d in truth['dockerfiles']:
        old = read_tree(os.path.join(HERE, d['id']), set(d['files']))
        for name, t in d['targets'].items():
            for way in t.get('accept', []) + t.get('tolerate', []):
                for f in old:
                    file_pattern(way, f, old[f])
            if 'accept' not in t:
                continue
            new, why = apply(old, open(os.path.join(HERE, t['expected_diff']), 'rb').read())
            if new is None:
                print('expected diff does not apply', d['id'], name, why)
                bad += 1
                continue
            for what, files in damaged(old, new):
                _, lines, values, remark = judge(t['accept'], old, files)
                if lines and values:
                    print('damaged patch passed:', d['id'], name, what, remark)
                    bad += 1
    for d in truth['images']:
        image = yaml.safe_load(open(os.path.join(HERE, d['id'], 'image.yaml')))['name']
        for name, t in d['targets'].items():
            row = t.get('thin_layer', {}).get('values', [{'torch': '2.8.0'}])[0]
            cu = row.get('cu')
            cu = cu[0] if isinstance(cu, list) else cu
            pins = ' '.join(f'{p}=={row[k]}' for k, p in (('torch', 'torch'), ('vision', 'torchvision'), ('audio', 'torchaudio')) if k in row)
            good = f'# thin layer\nFROM {image}\nRUN pip install --no-cache-dir {pins}' + (f' --index-url https://download.pytorch.org/whl/{cu}' if cu else '') + '\n'
            tries = [(good, 'thin_layer' in t), (good.replace(image, 'ubuntu:22.04'), False), (good.replace('torch==', 'torch==1', 1), False),
                     (good + 'RUN pip install numpy==2.1.0\n', False), (good + 'COPY . /app\n', False)]
            for text, want in tries:
                if all(judge_thin(t, image, text)[:2]) != want:
                    print('thin layer misjudged:', d['id'], name, text, judge_thin(t, image, text))
                    bad += 1
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('folder', nargs='?')
    p.add_argument('ids', nargs='*')
    p.add_argument('--self', action='store_true', dest='own')
    p.add_argument('--json', action='store_true')
    p.add_argument('--only-present', action='store_true')
    a = p.parse_args()
    if not a.own and not (a.folder and os.path.isdir(a.folder)):
        p.error('a folder with patches is needed')
    if not shutil.which('patch'):
        print('patch is not installed', file=sys.stderr)
        return 2
    truth = yaml.safe_load(open(os.path.join(HERE, 'truth.yaml')))
    bad = n = 0
    word = {True: 'yes', False: 'NO', None: '-'}
    for e in run(truth, HERE if a.own else a.folder, a.ids, a.only_present):
        n += 1
        bad += not e['ok']
        if a.json:
            print(json.dumps(e))
        else:
            print(f"{'ok  ' if e['ok'] else 'FAIL'} {e['id']:28} {e['target']:27} applied {word[e['applied']]:3} lines {word[e['only_accepted_lines']]:3} values {word[e['accepted_values']]:3} verdict {word[e['verdict']]:3} {e['remark'][:150]}")
    if a.own:
        bad += self_test(truth)
    print(f'{n} judged, {bad} failed', file=sys.stderr)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
