//! Reading and writing the parts of Avro's binary encoding that know nothing of Python.
//!
//! Source: Apache Avro 1.12 specification, "Binary Encoding".

use crate::outcome::{Irregular, OrIrregular, Outcome};

/// How deeply records, arrays and maps may be nested here; deeper values are left to the Python code and its limit.
pub const MAX_DEPTH: u32 = 150;

const CONTINUED: u8 = 0x80;
const LAST_SHIFT: u32 = 63;

/// The rest of a message, and how much may still be made of it that takes no bytes.
pub struct Message<'data> {
    rest: &'data [u8],
    /// How many items without bytes the arrays of the message may still have.
    pub empty_items_left: u64,
    /// How much weight without bytes its records may still have.
    pub weight_left: u64,
    /// How many containers may still be opened inside the current one.
    pub depth_left: u32,
}

impl<'data> Message<'data> {
    /// Return a message that begins at the start of `rest`.
    pub fn new(rest: &'data [u8], empty_items_left: u64, weight_left: u64) -> Self {
        Self { rest, empty_items_left, weight_left, depth_left: MAX_DEPTH }
    }

    /// The number of bytes left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Open a container, which [`Self::leave`] closes.
    pub fn enter(&mut self) -> Outcome<()> {
        self.depth_left = self.depth_left.checked_sub(1).or_irregular()?;
        Ok(())
    }

    /// Close a container.
    pub fn leave(&mut self) {
        self.depth_left += 1;
    }

    /// Return the next `size` bytes.
    #[inline]
    pub fn take(&mut self, size: usize) -> Outcome<&'data [u8]> {
        let (taken, rest) = self.rest.split_at_checked(size).or_irregular()?;
        self.rest = rest;
        Ok(taken)
    }

    /// Return the next `SIZE` bytes.
    #[inline]
    pub fn array<const SIZE: usize>(&mut self) -> Outcome<[u8; SIZE]> {
        let (taken, rest) = self.rest.split_first_chunk::<SIZE>().or_irregular()?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Return all bytes left.
    pub fn take_rest(&mut self) -> &'data [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Return a number of 64 bits.
    #[inline]
    pub fn long(&mut self) -> Outcome<i64> {
        let (&first, rest) = self.rest.split_first().or_irregular()?;
        if first & CONTINUED == 0 {
            self.rest = rest;
            return Ok(unzigzag(u64::from(first)));
        }
        self.long_of_more_bytes()
    }

    fn long_of_more_bytes(&mut self) -> Outcome<i64> {
        let mut raw = 0_u64;
        let mut shift = 0;
        loop {
            let [byte] = self.array()?;
            if shift == LAST_SHIFT && byte > 1 {
                return Err(Irregular::HERE);
            }
            raw |= u64::from(byte & !CONTINUED) << shift;
            if byte & CONTINUED == 0 {
                return Ok(unzigzag(raw));
            }
            shift += 7;
        }
    }

    /// Return a number of 32 bits.
    #[inline]
    pub fn int(&mut self) -> Outcome<i64> {
        let value = self.long()?;
        i32::try_from(value).map(i64::from).or_irregular()
    }

    /// Return a length.
    #[inline]
    pub fn size(&mut self) -> Outcome<usize> {
        usize::try_from(self.long()?).or_irregular()
    }

    /// Return as many bytes as the length before them says.
    #[inline]
    pub fn sized(&mut self) -> Outcome<&'data [u8]> {
        let size = self.size()?;
        self.take(size)
    }

    /// Pass over a number without reading it.
    pub fn skip_number(&mut self) -> Outcome<()> {
        loop {
            let [byte] = self.array()?;
            if byte & CONTINUED == 0 {
                return Ok(());
            }
        }
    }

    /// Return the number of items of the next block of an array or map; 0 after the last.
    ///
    /// `smallest` is the size in bytes that every item has at least. With `is_skipping`, blocks that state their size in
    /// bytes are passed over.
    pub fn block(&mut self, smallest: usize, is_skipping: bool) -> Outcome<u64> {
        loop {
            let count = self.long()?;
            if count < 0 {
                let size = self.size()?;
                if is_skipping {
                    self.take(size)?;
                    continue;
                }
            }
            let count = count.unsigned_abs();
            if smallest == 0 {
                self.empty_items_left = self.empty_items_left.checked_sub(count).or_irregular()?;
            } else if count > (self.left() / smallest) as u64 {
                return Err(Irregular::HERE);
            }
            return Ok(count);
        }
    }

    /// Count what a record weighs beside its bytes.
    pub fn weigh(&mut self, unpaid: u64) -> Outcome<()> {
        self.weight_left = self.weight_left.checked_sub(unpaid).or_irregular()?;
        Ok(())
    }
}

#[inline]
fn unzigzag(raw: u64) -> i64 {
    (raw >> 1).cast_signed() ^ -(raw & 1).cast_signed()
}

/// Write a number of 64 bits.
#[inline]
pub fn write_long(out: &mut Vec<u8>, value: i64) {
    let mut rest = (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned();
    while rest >= u64::from(CONTINUED) {
        out.push(low_byte(rest) | CONTINUED);
        rest >>= 7;
    }
    out.push(low_byte(rest));
}

#[inline]
fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

/// Write a length.
#[inline]
pub fn write_size(out: &mut Vec<u8>, size: usize) -> Outcome<()> {
    write_long(out, i64::try_from(size).or_irregular()?);
    Ok(())
}

/// Write bytes after their length.
#[inline]
pub fn write_sized(out: &mut Vec<u8>, bytes: &[u8]) -> Outcome<()> {
    write_size(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}
