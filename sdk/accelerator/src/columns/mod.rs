//! Columns: messages decoded into the buffers of Arrow arrays, without a Python value for each cell.
//!
//! The steps are those of a `Decoder`; the layout of the columns, which `counterfoil.sdk` makes of the reader's schema,
//! is their destination. A message that does not fit its columns leaves no trace in them and is left to the Python code.
//!
//! Source: Apache Arrow, "Arrow Columnar Format" 1.5.

mod buffers;
mod bytes;
mod column;
mod nested;
mod number;
mod pushing;
mod reading;
mod taking;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes, PyList, PyTuple};

use crate::decoder::Decoder;
use crate::outcome::{Irregular, Outcome};

use column::Column;
use reading::read;

/// Columns of one plan, and how many rows they have.
///
/// `layout` is the destination of the plan's values: a tuple that begins with the name of its kind, with the layouts
/// inside it.
#[pyclass(module = "counterfoil_accelerator")]
pub struct Columns {
    decoder: Py<Decoder>,
    root: Column,
    /// The number of rows.
    #[pyo3(get)]
    rows: usize,
}

#[pymethods]
impl Columns {
    #[new]
    fn new(decoder: Py<Decoder>, layout: &Bound<'_, PyTuple>) -> PyResult<Self> {
        Ok(Self { decoder, root: Column::from_layout(layout)?, rows: 0 })
    }

    /// Add a row for each of the messages from number `start` on, and return the number of the first that is not added.
    ///
    /// It is the first that does not begin with `prefix`, after which the value is read, or that is left to the Python
    /// code.
    #[pyo3(signature = (messages, start, prefix, /))]
    fn extend(&mut self, messages: &Bound<'_, PyList>, start: usize, prefix: &[u8]) -> PyResult<usize> {
        let py = messages.py();
        let decoder = self.decoder.clone_ref(py);
        for next in start..messages.len() {
            let message = messages.get_item(next)?;
            let Ok(data) = message.cast_exact::<PyBytes>() else { return Ok(next) };
            let Some(body) = data.as_bytes().strip_prefix(prefix) else { return Ok(next) };
            if let Err(irregular) = self.add(py, decoder.get(), body, data.as_bytes().len()) {
                return irregular.or_value(py, next);
            }
        }
        Ok(messages.len().max(start))
    }

    /// Add a row of nulls.
    fn append_null(&mut self) -> PyResult<()> {
        self.root.push_null().map_err(|_| PyOverflowError::new_err("the columns have too many values"))?;
        self.rows += 1;
        Ok(())
    }

    /// Return the rows and remove them: number of values, buffers, and the same for the columns inside.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let taken = self.root.take(py)?;
        self.rows = 0;
        Ok(taken)
    }
}

impl Columns {
    fn add(&mut self, py: Python<'_>, decoder: &Decoder, body: &[u8], size: usize) -> Outcome<()> {
        let mut message = decoder.message(body, size);
        let read = read(py, decoder, decoder.root, &mut self.root, &mut message);
        if read.is_ok() && (message.left() == 0 || !decoder.is_whole) {
            self.rows += 1;
            return Ok(());
        }
        self.root.truncate(self.rows);
        read.and(Err(Irregular::HERE))
    }
}
