//! The buffers that arrays consist of: bits, the bits of nulls, and offsets.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::outcome::{OrIrregular, Outcome};

pub const OFFSET_BYTES: usize = size_of::<i32>();
const BITS: usize = 8;

/// One bit for each value, the lowest of a byte first.
#[derive(Default)]
pub struct Bits {
    pub bytes: Vec<u8>,
    pub count: usize,
}

/// Which values are not null; nothing as long as none is.
#[derive(Default)]
pub struct Validity(pub Option<Bits>);

/// Where each value ends; there is one more of them than values.
pub struct Offsets(pub Vec<u8>);

impl Default for Offsets {
    fn default() -> Self {
        Self(vec![0; OFFSET_BYTES])
    }
}

impl Offsets {
    pub fn count(&self) -> usize {
        self.0.len() / OFFSET_BYTES - 1
    }

    pub fn push(&mut self, end: usize) -> Outcome<()> {
        self.0.extend_from_slice(&i32::try_from(end).or_irregular()?.to_ne_bytes());
        Ok(())
    }

    /// Keep the first `rows` values, and return where the last of them ends.
    pub fn truncate(&mut self, rows: usize) -> usize {
        self.0.truncate((rows + 1) * OFFSET_BYTES);
        self.0.last_chunk().map_or(0, |end| usize::try_from(i32::from_ne_bytes(*end)).unwrap_or(0))
    }

    /// Add a null, which ends where the value before it does.
    pub fn repeat(&mut self) {
        let last = self.0.last_chunk::<OFFSET_BYTES>().copied().unwrap_or_default();
        self.0.extend_from_slice(&last);
    }
}

impl Bits {
    #[inline]
    pub fn push(&mut self, bit: bool) {
        if self.count.is_multiple_of(BITS) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.count % BITS);
        }
        self.count += 1;
    }

    pub fn truncate(&mut self, count: usize) {
        if count < self.count {
            self.bytes.truncate(count.div_ceil(BITS));
            if let Some(last) = self.bytes.last_mut().filter(|_| !count.is_multiple_of(BITS)) {
                *last &= (1 << (count % BITS)) - 1;
            }
            self.count = count;
        }
    }
}

impl Validity {
    /// Add whether the value after `rows` others is not null.
    #[inline]
    pub fn push(&mut self, is_valid: bool, rows: usize) {
        if self.0.is_none() && is_valid {
            return;
        }
        let bits = self.0.get_or_insert_with(|| {
            let mut bits = Bits { bytes: vec![u8::MAX; rows.div_ceil(BITS)], count: usize::MAX };
            bits.truncate(rows);
            bits
        });
        bits.push(is_valid);
    }

    pub fn truncate(&mut self, rows: usize) {
        if let Some(bits) = &mut self.0 {
            bits.truncate(rows);
        }
    }

    pub fn take<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.take().map(|bits| PyBytes::new(py, &bits.bytes))
    }
}
