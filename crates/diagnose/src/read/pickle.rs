//! Pickles of plain data (dictionaries, lists, tuples, strings, numbers), read without executing anything:
//! whatever would import or call something is refused. Opcodes as in CPython's `pickletools`.

use super::error::DumpError;

/// So many values at most: 24 MiB of them.
const VALUES: usize = 500_000;

/// A value; what it holds are places in [`Pickle::values`].
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Other,
    Int(i64),
    Text(usize, usize),
    List(Vec<u32>),
    Dict(Vec<(u32, u32)>),
}

/// A pickle that has been read.
#[derive(Debug)]
pub struct Pickle<'b> {
    bytes: &'b [u8],
    values: Vec<Value>,
    root: u32,
}

/// A value of a pickle.
#[derive(Debug, Clone, Copy)]
pub struct Item<'p> {
    pickle: &'p Pickle<'p>,
    at: u32,
}

impl<'p> Item<'p> {
    /// What a dictionary has for a key.
    pub fn get(self, key: &str) -> Option<Item<'p>> {
        self.pairs().find(|(known, _)| known.text() == Some(key)).map(|(_, value)| value)
    }

    /// The keys and values of a dictionary.
    pub fn pairs(self) -> impl Iterator<Item = (Item<'p>, Item<'p>)> {
        let pairs: &[(u32, u32)] = match &self.pickle.values[self.at as usize] {
            Value::Dict(pairs) => pairs,
            _ => &[],
        };
        let item = move |at: u32| Item { pickle: self.pickle, at };
        pairs.iter().map(move |(key, value)| (item(*key), item(*value)))
    }

    /// The values of a list or tuple.
    pub fn list(self) -> impl DoubleEndedIterator<Item = Item<'p>> {
        let list: &[u32] = match &self.pickle.values[self.at as usize] {
            Value::List(list) => list,
            _ => &[],
        };
        list.iter().map(move |at| Item { pickle: self.pickle, at: *at })
    }

    /// A string.
    pub fn text(self) -> Option<&'p str> {
        match self.pickle.values[self.at as usize] {
            Value::Text(from, to) => std::str::from_utf8(&self.pickle.bytes[from..to]).ok(),
            _ => None,
        }
    }

    /// A number, in words too.
    pub fn int(self) -> Option<i64> {
        match self.pickle.values[self.at as usize] {
            Value::Int(number) => Some(number),
            Value::Text(..) => self.text()?.parse().ok(),
            _ => None,
        }
    }
}

impl<'b> Pickle<'b> {
    /// The outermost value.
    pub fn root(&'b self) -> Item<'b> {
        Item { pickle: self, at: self.root }
    }

    /// Reads a pickle; why not, in a few words.
    pub(crate) fn read(bytes: &'b [u8]) -> Result<Pickle<'b>, DumpError> {
        let mut machine = Machine {
            bytes,
            at: 0,
            values: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
        };
        while let Some(code) = machine.byte() {
            if code == b'.' {
                let root = machine.stack.pop().ok_or(DumpError::Empty)?;
                return Ok(Pickle { bytes, values: machine.values, root });
            }
            machine.step(code).ok_or_else(|| refused(machine.at - 1, code))?;
        }
        Err(DumpError::Truncated)
    }
}

fn refused(at: usize, code: u8) -> DumpError {
    match code {
        b'c' | b'R' | b'i' | b'o' | b'b' | 0x81 | 0x92 | 0x93 | b'P' | b'Q' => DumpError::Code { at },
        _ => DumpError::Opcode { at, code },
    }
}

/// The stack machine that a pickle is a program for.
struct Machine<'b> {
    bytes: &'b [u8],
    at: usize,
    values: Vec<Value>,
    stack: Vec<u32>,
    marks: Vec<usize>,
    /// Values by the number under which they are called again.
    memo: Vec<(u32, u32)>,
}

impl Machine<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A number of so many bytes, the low one first.
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let part = self.bytes.get(self.at..self.at + bytes)?;
        self.at += bytes;
        Some(part.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    fn push(&mut self, value: Value) -> Option<()> {
        let index = u32::try_from(self.values.len()).ok().filter(|_| self.values.len() < VALUES)?;
        self.values.push(value);
        self.stack.push(index);
        Some(())
    }

    /// A string or bytes with a length field of this many bytes.
    fn text(&mut self, bytes: usize) -> Option<()> {
        let length = usize::try_from(self.number(bytes)?).ok()?;
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len())?;
        let from = std::mem::replace(&mut self.at, end);
        self.push(Value::Text(from, end))
    }

    /// What was pushed since the last mark.
    fn since_mark(&mut self) -> Option<Vec<u32>> {
        let mark = self.marks.pop().filter(|mark| *mark <= self.stack.len())?;
        Some(self.stack.split_off(mark))
    }

    fn last(&mut self, count: usize) -> Option<Vec<u32>> {
        let from = self.stack.len().checked_sub(count)?;
        Some(self.stack.split_off(from))
    }

    fn extend(&mut self, new: &[u32]) -> Option<()> {
        match &mut self.values[*self.stack.last()? as usize] {
            Value::List(list) => list.extend(new),
            _ => return None,
        }
        Some(())
    }

    fn insert(&mut self, new: &[u32]) -> Option<()> {
        match &mut self.values[*self.stack.last()? as usize] {
            Value::Dict(pairs) => pairs.extend(new.chunks_exact(2).map(|pair| (pair[0], pair[1]))),
            _ => return None,
        }
        Some(())
    }

    fn remember(&mut self, number: u64) -> Option<()> {
        let entry = (u32::try_from(number).ok()?, *self.stack.last()?);
        // Numbers ascend where a program wrote them; the last one counts.
        (self.memo.last().is_none_or(|last| last.0 < entry.0)).then(|| self.memo.push(entry))
    }

    fn recall(&mut self, number: u64) -> Option<()> {
        let number = u32::try_from(number).ok()?;
        let index = self.memo.binary_search_by_key(&number, |one| one.0).ok()?;
        self.stack.push(self.memo[index].1);
        Some(())
    }

    /// One opcode; `None`: it is refused or damaged.
    fn step(&mut self, code: u8) -> Option<()> {
        match code {
            0x80 => self.number(1).map(|_| ()),
            0x95 => self.number(8).map(|_| ()),
            b'(' => {
                self.marks.push(self.stack.len());
                Some(())
            }
            b'}' => self.push(Value::Dict(Vec::new())),
            b']' | b')' => self.push(Value::List(Vec::new())),
            b'N' => self.push(Value::Other),
            // True and false are numbers in Python.
            0x88 => self.push(Value::Int(1)),
            0x89 => self.push(Value::Int(0)),
            b'G' => self.number(8).and_then(|_| self.push(Value::Other)),
            b'K' => self.number(1).and_then(|number| self.push(Value::Int(i64::try_from(number).ok()?))),
            b'M' => self.number(2).and_then(|number| self.push(Value::Int(i64::try_from(number).ok()?))),
            b'J' => {
                let number = u32::try_from(self.number(4)?).ok()?.cast_signed();
                self.push(Value::Int(i64::from(number)))
            }
            0x8a => {
                let length = usize::try_from(self.number(1)?).ok().filter(|length| *length <= 8)?;
                let shift = 64 - 8 * u32::try_from(length).ok()?;
                let number = self.number(length)?.checked_shl(shift).unwrap_or(0).cast_signed();
                self.push(Value::Int(number.checked_shr(shift).unwrap_or(0)))
            }
            b'X' | b'B' => self.text(4),
            0x8c | b'C' => self.text(1),
            0x8d => self.text(8),
            b't' | 0x85..=0x87 => {
                let list =
                    if code == b't' { self.since_mark()? } else { self.last(usize::from(code) - 0x84)? };
                self.push(Value::List(list))
            }
            b'a' => self.last(1).and_then(|new| self.extend(&new)),
            b'e' => self.since_mark().and_then(|new| self.extend(&new)),
            b's' => self.last(2).and_then(|new| self.insert(&new)),
            b'u' => self.since_mark().and_then(|new| self.insert(&new)),
            b'q' => self.number(1).and_then(|number| self.remember(number)),
            b'r' => self.number(4).and_then(|number| self.remember(number)),
            0x94 => self.remember(self.memo.len() as u64),
            b'h' => self.number(1).and_then(|number| self.recall(number)),
            b'j' => self.number(4).and_then(|number| self.recall(number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pickle;

    #[test]
    fn reads_pickles_of_plain_data() {
        // pickletools: {'entries': [{'seq': 300, 'state': 'started', 't': (1, -2)}], 'n': None}, protocol 2
        let bytes = b"\x80\x02}q\x00(X\x07\x00\x00\x00entriesq\x01]q\x02}\
         q\x03(X\x03\x00\x00\x00seqq\x04M,\
         \x01X\x05\x00\x00\x00stateq\x05X\x07\x00\x00\x00startedq\x06X\x01\x00\x00\x00tq\x07K\x01J\xfe\
         \xff\xff\xff\x86q\x08uaX\x01\x00\x00\x00nq\x09Nu.";
        let pickle = Pickle::read(bytes).unwrap();
        let entry = pickle.root().get("entries").unwrap().list().next().unwrap();
        assert_eq!(
            (entry.get("seq").unwrap().int(), entry.get("state").unwrap().text()),
            (Some(300), Some("started"))
        );
        let numbers: Vec<i64> = entry.get("t").unwrap().list().filter_map(|one| one.int()).collect();
        assert_eq!(numbers, [1, -2]);
        for cut in 0..bytes.len() {
            assert!(Pickle::read(&bytes[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn rejects_pickles_that_import_or_call() {
        let attack = b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.";
        assert!(Pickle::read(attack).unwrap_err().to_string().contains("import or call"));
        assert!(Pickle::read(b"\x80\x02h\x05.").is_err());
        assert!(Pickle::read(b"\x80\x02e.").is_err());
        assert!(Pickle::read(b"\x80\x02X\xff\xff\xff\xff.").is_err());
    }
}
