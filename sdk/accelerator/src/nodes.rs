//! Reading the nodes of a plan: tuples of Python that begin with the name of their kind.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::conversion::Conversion;

/// The number of a node in its plan.
pub type NodeNumber = usize;

/// Return the element of a node at `place`, which `kind` requires.
pub fn part<'py, T>(node: &Bound<'py, PyTuple>, place: usize) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    node.get_item(place)?.extract().map_err(Into::into)
}

/// Return the conversion of a node at `place`; `None` where the node has none.
pub fn conversion(node: &Bound<'_, PyTuple>, place: usize) -> PyResult<Option<Conversion>> {
    let part = node.get_item(place)?;
    if part.is_none() {
        return Ok(None);
    }
    Conversion::from_node(part.cast::<PyTuple>()?).map(Some)
}

/// Return the node, or an error if the plan has no such node.
pub fn checked(number: NodeNumber, count: usize) -> PyResult<NodeNumber> {
    if number < count { Ok(number) } else { Err(unknown("number", &number.to_string())) }
}

/// Return the error for a part of a plan that this version does not know.
pub fn unknown(what: &str, name: &str) -> PyErr {
    PyValueError::new_err(format!("the plan has a {what} {name} that this version of the accelerator does not know"))
}
