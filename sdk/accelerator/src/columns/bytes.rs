//! Columns of texts and bytes: of any length, and of one length, such as uuids and decimals.

use super::buffers::{Offsets, Validity};
use crate::conversion::{Conversion, Form};
use crate::outcome::{Irregular, OrIrregular, Outcome};

const DECIMAL_128: usize = 16;
const DECIMAL_256: usize = 32;

/// Texts or bytes of any length.
pub struct Sized {
    pub is_text: bool,
    pub offsets: Offsets,
    pub data: Vec<u8>,
    pub validity: Validity,
}

/// Values of as many bytes as all others.
pub struct Fixed {
    pub meaning: FixedMeaning,
    pub size: usize,
    pub data: Vec<u8>,
    pub validity: Validity,
}

#[derive(Clone, Copy)]
pub enum FixedMeaning {
    Bytes,
    Uuid,
    Decimal { precision: u32, scale: u32 },
}

impl Sized {
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> Outcome<()> {
        let rows = self.offsets.count();
        self.offsets.push(self.data.len().checked_add(bytes.len()).or_irregular()?)?;
        self.data.extend_from_slice(bytes);
        self.validity.push(true, rows);
        Ok(())
    }
}

impl Fixed {
    /// The number of values; those of a type without bytes are counted by their validity, which then is kept.
    pub fn rows(&self) -> usize {
        match (self.size, &self.validity.0) {
            (0, None) => 0,
            (0, Some(bits)) => bits.count,
            (size, _) => self.data.len() / size,
        }
    }

    pub fn truncate(&mut self, rows: usize) {
        self.data.truncate(rows * self.size);
        self.validity.truncate(rows);
    }

    pub fn push_null(&mut self) {
        self.validity.push(false, self.rows());
        self.data.resize(self.data.len() + self.size, 0);
    }

    pub fn push(&mut self, bytes: &[u8]) -> Outcome<()> {
        if bytes.len() != self.size {
            return Err(Irregular::HERE);
        }
        if self.size == 0 {
            self.validity.0.get_or_insert_default().push(true);
        } else {
            self.validity.push(true, self.rows());
        }
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    pub fn push_bytes(&mut self, bytes: &[u8], form: Option<&Conversion>) -> Outcome<()> {
        match (self.meaning, form) {
            (FixedMeaning::Bytes, None) => self.push(bytes),
            (FixedMeaning::Uuid, Some(form)) if matches!(form.form(), Form::UuidBytes) => self.push(bytes),
            (FixedMeaning::Decimal { precision, scale }, Some(form)) => {
                let unscaled = form.unscaled_in(bytes, scale)?;
                if 10_i128.checked_pow(precision).is_some_and(|limit| unscaled.abs_diff(0) >= limit.unsigned_abs()) {
                    return Err(Irregular::HERE);
                }
                self.push_decimal(unscaled)
            }
            _ => Err(Irregular::HERE),
        }
    }

    pub fn push_decimal(&mut self, unscaled: i128) -> Outcome<()> {
        let low = unscaled.to_ne_bytes();
        if self.size == DECIMAL_128 {
            return self.push(&low);
        }
        let mut wide = [if unscaled < 0 { u8::MAX } else { 0 }; DECIMAL_256];
        let place = if cfg!(target_endian = "little") { 0 } else { DECIMAL_256 - low.len() };
        wide.get_mut(place..).and_then(|rest| rest.first_chunk_mut()).map(|part| *part = low).or_irregular()?;
        self.push(&wide)
    }
}
