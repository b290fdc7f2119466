//! JSON texts, written and read by the packages that `counterfoil.sdk` uses for that, and what these do not check.
//!
//! orjson writes null for numbers that are not finite, and reads integers of more than 64 bits as floats. Here a text
//! in which either may have happened is found, and left to the Python code; all other texts take one call.

use std::cell::Cell;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::outcome::{Irregular, OrIrregular, Outcome};

/// How many digits an integer has at least that may not fit 64 bits.
const LONG_NUMBER: usize = 19;
const MAX_DEPTH: u32 = 150;
/// Not a part of a class: its vectors need memory that is aligned more strictly than that of Python's objects.
static NULL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"null"));

/// Writes values with `dumps(value, default)`; `fallback(value, prefix)` writes what that does not.
#[pyclass(frozen, module = "counterfoil_accelerator")]
pub struct JsonEncoder {
    dumps: Py<PyAny>,
    default: Py<PyAny>,
    fallback: Py<PyAny>,
}

#[pymethods]
impl JsonEncoder {
    #[new]
    fn new(dumps: Py<PyAny>, default: Py<PyAny>, fallback: Py<PyAny>) -> Self {
        Self { dumps, default, fallback }
    }

    /// Return `prefix` and the JSON text of `value`. Raises what `fallback` raises.
    #[pyo3(signature = (value, prefix, /))]
    pub fn encode<'py>(&self, value: &Bound<'py, PyAny>, prefix: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        self.write(value, prefix)
            .or_else(|irregular| irregular.or_else(py, || self.fallback.bind(py).call1((value, prefix))))
    }
}

impl JsonEncoder {
    fn write<'py>(&self, value: &Bound<'py, PyAny>, prefix: &Bound<'py, PyAny>) -> Outcome<Bound<'py, PyAny>> {
        let py = value.py();
        let prefix = prefix.cast_exact::<PyBytes>().or_irregular()?.as_bytes();
        let written = self.dumps.bind(py).call1((value, &self.default))?;
        let text = written.cast_exact::<PyBytes>().or_irregular()?.as_bytes();
        let nulls = NULL.find_iter(text).count();
        if nulls > 0 && nulls != nones_in(value) && !is_finite(value, MAX_DEPTH) {
            return Err(Irregular::HERE);
        }
        let size = prefix.len() + text.len();
        let message = PyBytes::new_with(py, size, |out| {
            let (frame, body) = out.split_at_mut(prefix.len());
            frame.copy_from_slice(prefix);
            body.copy_from_slice(text);
            Ok(())
        })?;
        Ok(message.into_any())
    }
}

/// Return how many entries of a dict are None. If there are as many as nulls in its text, no number was written as null.
fn nones_in(value: &Bound<'_, PyAny>) -> usize {
    let found = Cell::new(0);
    if let Ok(entries) = value.cast_exact::<PyDict>() {
        let walked = entries.locked_for_each(|_, item| {
            found.set(found.get() + usize::from(item.is_none()));
            Ok(())
        });
        return walked.map_or(0, |()| found.get());
    }
    0
}

/// Return whether a value consists of Python's own types, and all its numbers are finite.
fn is_finite(value: &Bound<'_, PyAny>, depth_left: u32) -> bool {
    if value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
    {
        return true;
    }
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return number.value().is_finite();
    }
    let Some(deeper) = depth_left.checked_sub(1) else { return false };
    if let Ok(entries) = value.cast_exact::<PyDict>() {
        let are_finite = Cell::new(true);
        let walked = entries.locked_for_each(|_, item| {
            are_finite.set(are_finite.get() && is_finite(&item, deeper));
            Ok(())
        });
        return walked.is_ok() && are_finite.get();
    }
    if let Ok(items) = value.cast_exact::<PyList>() {
        return items.iter().all(|item| is_finite(&item, deeper));
    }
    value.cast_exact::<PyTuple>().is_ok_and(|items| items.iter().all(|item| is_finite(&item, deeper)))
}

/// Reads texts with `loads(text)`, and those with long numbers with `fallback(data, offset)`.
#[pyclass(frozen, module = "counterfoil_accelerator")]
pub struct JsonDecoder {
    loads: Py<PyAny>,
    fallback: Py<PyAny>,
}

#[pymethods]
impl JsonDecoder {
    #[new]
    fn new(loads: Py<PyAny>, fallback: Py<PyAny>) -> Self {
        Self { loads, fallback }
    }

    /// Return the value of the text at `offset` of `data`. Raises what `fallback` raises.
    #[pyo3(signature = (data, offset, /))]
    pub fn decode<'py>(&self, data: &Bound<'py, PyAny>, offset: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = data.py();
        self.read(data, offset)
            .or_else(|irregular| irregular.or_else(py, || self.fallback.bind(py).call1((data, offset))))
    }
}

impl JsonDecoder {
    fn read<'py>(&self, data: &Bound<'py, PyAny>, offset: usize) -> Outcome<Bound<'py, PyAny>> {
        let text = data.cast_exact::<PyBytes>().or_irregular()?.as_bytes().get(offset..).or_irregular()?;
        if has_long_number(text) {
            return Err(Irregular::HERE);
        }
        Ok(self.loads.bind(data.py()).call1((PyBytes::new(data.py(), text),))?)
    }
}

/// Return whether there are [`LONG_NUMBER`] digits in a row, wherever: one of them is at a multiple of their number.
fn has_long_number(text: &[u8]) -> bool {
    let mut place = LONG_NUMBER - 1;
    while let Some(byte) = text.get(place) {
        if byte.is_ascii_digit() {
            let (before, after) = text.split_at(place);
            let left = before.iter().rev().take_while(|one| one.is_ascii_digit()).count();
            let right = after.iter().take_while(|one| one.is_ascii_digit()).count();
            if left + right >= LONG_NUMBER {
                return true;
            }
        }
        place += LONG_NUMBER;
    }
    false
}
