//! Columns of numbers, and of dates and times, which are numbers.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::buffers::Validity;
use crate::conversion::{Conversion, Form, checked_day, checked_instant_us, checked_time_us};
use crate::nodes::{part, unknown};
use crate::outcome::{Irregular, OrIrregular, Outcome};

pub struct Number {
    pub meaning: Meaning,
    pub size: usize,
    pub data: Vec<u8>,
    pub validity: Validity,
}

/// What a number in a column means, which decides from what it may be read.
#[derive(Clone, Copy)]
pub enum Meaning {
    Integer,
    Real,
    Date,
    Time { unit_us: i64 },
    Timestamp { unit_us: i64 },
    LocalTimestamp { unit_us: i64 },
    Nanos,
    LocalNanos,
}

impl Number {
    pub fn from_layout(layout: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let name: String = part(layout, 2)?;
        let meaning = match name.as_str() {
            "integer" => Meaning::Integer,
            "real" => Meaning::Real,
            "date" => Meaning::Date,
            "time" => Meaning::Time { unit_us: part(layout, 3)? },
            "timestamp" => Meaning::Timestamp { unit_us: part(layout, 3)? },
            "local-timestamp" => Meaning::LocalTimestamp { unit_us: part(layout, 3)? },
            "nanos" => Meaning::Nanos,
            "local-nanos" => Meaning::LocalNanos,
            other => return Err(unknown("column", other)),
        };
        Ok(Self { meaning, size: part(layout, 1)?, data: Vec::new(), validity: Validity::default() })
    }

    #[inline]
    pub fn push(&mut self, number: i64) -> Outcome<()> {
        self.validity.push(true, self.data.len() / self.size);
        if self.size == size_of::<i32>() {
            self.data.extend_from_slice(&i32::try_from(number).or_irregular()?.to_ne_bytes());
        } else {
            self.data.extend_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    }

    #[inline]
    pub fn push_real(&mut self, number: f64) -> Outcome<()> {
        if !matches!(self.meaning, Meaning::Real) {
            return Err(Irregular::HERE);
        }
        self.validity.push(true, self.data.len() / self.size);
        if self.size == size_of::<f32>() {
            #[expect(clippy::cast_possible_truncation, reason = "a float is the nearest of its numbers")]
            self.data.extend_from_slice(&(number as f32).to_ne_bytes());
        } else {
            self.data.extend_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    }

    #[inline]
    pub fn push_integer(&mut self, number: i64, form: Option<&Conversion>) -> Outcome<()> {
        match (self.meaning, form.map(Conversion::form)) {
            (Meaning::Integer, None)
            | (Meaning::Nanos, Some(Form::Nanos))
            | (Meaning::LocalNanos, Some(Form::LocalNanos { .. })) => self.push(number),
            #[expect(clippy::cast_precision_loss, reason = "Avro promotes a long to a double, the nearest one")]
            (Meaning::Real, Some(Form::Float)) => self.push_real(number as f64),
            (Meaning::Date, Some(Form::Date)) => self.push(checked_day(number)?),
            (Meaning::Time { unit_us }, Some(Form::Time { unit_us: read_us, .. })) => {
                self.push(checked_time_us(number, read_us)? / unit_us)
            }
            (Meaning::Timestamp { unit_us }, Some(Form::Timestamp { unit_us: read_us, .. }))
            | (Meaning::LocalTimestamp { unit_us }, Some(Form::LocalTimestamp { unit_us: read_us, .. })) => {
                self.push(checked_instant_us(number, read_us)?.div_euclid(unit_us))
            }
            _ => Err(Irregular::HERE),
        }
    }
}
