//! Adding one value to a column: a null, bytes and texts of a message, and defaults of the reader.

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use super::bytes::FixedMeaning;
use super::column::Column;
use super::number::Meaning;
use crate::conversion::Conversion;
use crate::outcome::{Irregular, OrIrregular, Outcome};

impl Column {
    pub fn push_null(&mut self) -> Outcome<()> {
        match self {
            Self::Null(rows) => *rows += 1,
            Self::Boolean(bits, validity) => {
                validity.push(false, bits.count);
                bits.push(false);
            }
            Self::Number(column) => {
                column.validity.push(false, column.data.len() / column.size);
                column.data.resize(column.data.len() + column.size, 0);
            }
            Self::Sized(column) => {
                column.validity.push(false, column.offsets.count());
                column.offsets.repeat();
            }
            Self::Fixed(column) => column.push_null(),
            Self::List(column) => {
                column.validity.push(false, column.offsets.count());
                column.offsets.repeat();
            }
            Self::Map(column) => {
                column.validity.push(false, column.offsets.count());
                column.offsets.repeat();
            }
            Self::Struct(column) => {
                column.columns.iter_mut().try_for_each(|(_, inner)| inner.push_null())?;
                column.validity.push(false, column.rows);
                column.rows += 1;
            }
            Self::Union(column) => {
                let null = column.branches.iter().position(|one| matches!(one, Self::Null(_))).unwrap_or(0);
                column.branch(null)?.push_null()?;
            }
        }
        Ok(())
    }

    pub fn push_bytes(&mut self, bytes: &[u8], form: Option<&Conversion>) -> Outcome<()> {
        match self {
            Self::Sized(column) if !column.is_text && form.is_none() => column.push(bytes),
            Self::Fixed(column) => column.push_bytes(bytes, form),
            _ => Err(Irregular::HERE),
        }
    }

    pub fn push_text(&mut self, bytes: &[u8], form: Option<&Conversion>) -> Outcome<()> {
        match (self, form) {
            (Self::Sized(column), None) if column.is_text => {
                std::str::from_utf8(bytes).or_irregular()?;
                column.push(bytes)
            }
            (Self::Fixed(column), Some(form)) if matches!(column.meaning, FixedMeaning::Uuid) => {
                column.push(&form.uuid_of_text(bytes)?)
            }
            _ => Err(Irregular::HERE),
        }
    }

    /// Add a default of the reader.
    pub fn push_value(&mut self, value: &Bound<'_, PyAny>) -> Outcome<()> {
        if value.is_none() && !matches!(self, Self::Union(_)) {
            return self.push_null();
        }
        match self {
            Self::Boolean(bits, validity) => {
                let bit = value.cast_exact::<PyBool>().or_irregular()?.is_true();
                validity.push(true, bits.count);
                bits.push(bit);
                Ok(())
            }
            Self::Number(column) => match column.meaning {
                Meaning::Integer => column.push(value.cast_exact::<PyInt>().or_irregular()?.extract()?),
                Meaning::Real => column.push_real(value.cast_exact::<PyFloat>().or_irregular()?.value()),
                _ => Err(Irregular::HERE),
            },
            Self::Sized(column) if column.is_text => {
                column.push(value.cast_exact::<PyString>().or_irregular()?.to_str()?.as_bytes())
            }
            Self::Sized(_) | Self::Fixed(_) => {
                self.push_bytes(value.cast_exact::<PyBytes>().or_irregular()?.as_bytes(), None)
            }
            Self::List(column) => {
                for item in value.cast_exact::<PyList>().or_irregular()? {
                    column.items.push_value(&item)?;
                }
                column.close()
            }
            Self::Map(column) => {
                for (key, item) in value.cast_exact::<PyDict>().or_irregular()? {
                    column.keys.push_value(&key)?;
                    column.values.push_value(&item)?;
                }
                column.close()
            }
            Self::Struct(column) => {
                let entries = value.cast_exact::<PyDict>().or_irregular()?;
                for (name, inner) in &mut column.columns {
                    inner.push_value(&entries.get_item(&*name)?.or_irregular()?)?;
                }
                column.close();
                Ok(())
            }
            Self::Null(_) | Self::Union(_) => Err(Irregular::HERE),
        }
    }
}
