//! Passing the buffers of a column to Python.

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes};

use super::bytes::Fixed;
use super::column::Column;
use super::number::Number;

impl Column {
    /// Return the buffers and leave the column empty.
    pub fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.count();
        let bytes = |data: &mut Vec<u8>| PyBytes::new(py, &std::mem::take(data));
        let none = py.None().into_bound(py);
        let part = match self {
            Self::Null(count) => {
                *count = 0;
                (rows, (none,), Vec::<Bound<'py, PyAny>>::new()).into_pyobject(py)?
            }
            Self::Boolean(bits, validity) => {
                bits.count = 0;
                (rows, (validity.take(py), bytes(&mut bits.bytes)), Vec::<Bound<'py, PyAny>>::new())
                    .into_pyobject(py)?
            }
            Self::Number(Number { data, validity, .. }) | Self::Fixed(Fixed { data, validity, .. }) => {
                (rows, (validity.take(py), bytes(data)), Vec::<Bound<'py, PyAny>>::new()).into_pyobject(py)?
            }
            Self::Sized(column) => {
                let offsets = PyBytes::new(py, &std::mem::take(&mut column.offsets).0);
                let buffers = (column.validity.take(py), offsets, bytes(&mut column.data));
                (rows, buffers, Vec::<Bound<'py, PyAny>>::new()).into_pyobject(py)?
            }
            Self::List(column) => {
                let offsets = PyBytes::new(py, &std::mem::take(&mut column.offsets).0);
                (rows, (column.validity.take(py), offsets), vec![column.items.take(py)?]).into_pyobject(py)?
            }
            Self::Map(column) => {
                let offsets = PyBytes::new(py, &std::mem::take(&mut column.offsets).0);
                let entries = vec![column.keys.take(py)?, column.values.take(py)?];
                (rows, (column.validity.take(py), offsets), entries).into_pyobject(py)?
            }
            Self::Struct(column) => {
                column.rows = 0;
                let inner = column.columns.iter_mut().map(|(_, inner)| inner.take(py)).collect::<PyResult<Vec<_>>>()?;
                (rows, (column.validity.take(py),), inner).into_pyobject(py)?
            }
            Self::Union(column) => {
                let inner = column.branches.iter_mut().map(|one| one.take(py)).collect::<PyResult<Vec<_>>>()?;
                (rows, (none, bytes(&mut column.numbers), bytes(&mut column.places)), inner).into_pyobject(py)?
            }
        };
        Ok(part.into_any())
    }
}
