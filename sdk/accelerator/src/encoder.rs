//! Encoders: a plan of one schema, and the walk over it for each value.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use crate::conversion::Conversion;
use crate::message::{MAX_DEPTH, write_long, write_size, write_sized};
use crate::nodes::{NodeNumber, checked, conversion, part, unknown};
use crate::outcome::{Irregular, OrIrregular, Outcome};

/// The whole number below which every one is a number of the type; one above it is never rounded to a smaller one.
const DOUBTFUL_DOUBLE: f64 = 9_007_199_254_740_992.0; // 2 to the power of 53
const DOUBTFUL_FLOAT: f64 = 16_777_216.0; // 2 to the power of 24
const END: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 0;
/// How much room a message gets at first, whatever was written before.
const MAX_FIRST_ROOM: usize = 16 * 1024;

/// One step of a plan; `counterfoil.sdk.serde.avro.plan` defines their meaning.
enum Node {
    Null,
    Boolean,
    Int(Option<Conversion>),
    Long(Option<Conversion>),
    Float,
    Double,
    Bytes(Option<Conversion>),
    Text(Option<Conversion>),
    Fixed(usize, Option<Conversion>),
    Enum(Vec<Py<PyString>>),
    Array(NodeNumber),
    Map(NodeNumber),
    Optional(Optional),
    Union(Union),
    Record(Record),
    /// A top-level `bytes`, which is written without its length.
    Raw(Option<Conversion>),
}

/// A union of null and one other type; `choose` where a tuple may name a branch.
struct Optional {
    null: i64,
    other: i64,
    node: NodeNumber,
    choose: Option<Py<PyAny>>,
}

/// Any other union: the branch by Python type, and `choose` for other values.
struct Union {
    branches: Vec<NodeNumber>,
    by_type: Vec<(Py<PyType>, usize)>,
    choose: Py<PyAny>,
}

struct Record {
    fields: Vec<Field>,
    is_strict: bool,
    /// Whether its values are written without calling code of Python.
    is_plain: bool,
}

/// A field, and the value that is written where a dict does not have it.
struct Field {
    name: Py<PyString>,
    node: NodeNumber,
    default: Option<Py<PyAny>>,
}

/// Writes values of one schema.
///
/// `nodes` are the steps of a plan, `root` is the number of the first. `fallback(value, prefix)` writes what this class
/// does not: it is the Python code of the same plan.
#[pyclass(frozen, module = "counterfoil_accelerator")]
pub struct Encoder {
    nodes: Vec<Node>,
    root: NodeNumber,
    fallback: Py<PyAny>,
    /// About the size of the last message.
    room: AtomicUsize,
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (nodes, root, *, fallback))]
    fn new(nodes: &Bound<'_, PyList>, root: NodeNumber, fallback: Py<PyAny>) -> PyResult<Self> {
        let count = nodes.len();
        let mut nodes = nodes.iter().map(|node| Node::read(node.cast()?, count)).collect::<PyResult<Vec<_>>>()?;
        find_plain(&mut nodes);
        Ok(Self { nodes, root: checked(root, count)?, fallback, room: AtomicUsize::new(0) })
    }

    /// Return `prefix` and the encoding of `value`. Raises what `fallback` raises.
    #[pyo3(signature = (value, prefix = None, /))]
    pub fn encode<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        prefix: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let mut message = Vec::with_capacity(self.room.load(Ordering::Relaxed));
        match self.write_message(value, prefix, &mut message) {
            Ok(()) => {
                if message.capacity() > self.room.load(Ordering::Relaxed) {
                    self.room.store(message.capacity().min(MAX_FIRST_ROOM), Ordering::Relaxed);
                }
                Ok(PyBytes::new(py, &message).into_any())
            }
            Err(irregular) => irregular.or_else(py, || match prefix {
                Some(prefix) => self.fallback.bind(py).call1((value, prefix)),
                None => self.fallback.bind(py).call1((value,)),
            }),
        }
    }
}

impl Encoder {
    fn write_message(
        &self,
        value: &Bound<'_, PyAny>,
        prefix: Option<&Bound<'_, PyAny>>,
        out: &mut Vec<u8>,
    ) -> Outcome<()> {
        if let Some(prefix) = prefix {
            out.extend_from_slice(prefix.cast_exact::<PyBytes>().or_irregular()?.as_bytes());
        }
        self.write(self.root, value, out, MAX_DEPTH)
    }

    fn write(&self, node: NodeNumber, value: &Bound<'_, PyAny>, out: &mut Vec<u8>, depth_left: u32) -> Outcome<()> {
        match self.nodes.get(node).or_irregular()? {
            Node::Null if value.is_none() => Ok(()),
            Node::Null => Err(Irregular::HERE),
            Node::Boolean => {
                out.push(if value.cast_exact::<PyBool>().or_irregular()?.is_true() { TRUE } else { FALSE });
                Ok(())
            }
            Node::Int(form) => {
                let number = number(value, form.as_ref())?;
                i32::try_from(number).or_irregular()?;
                write_long(out, number);
                Ok(())
            }
            Node::Long(form) => {
                write_long(out, number(value, form.as_ref())?);
                Ok(())
            }
            Node::Float => write_float(value, out),
            Node::Double => {
                out.extend_from_slice(&real(value, DOUBTFUL_DOUBLE)?.to_le_bytes());
                Ok(())
            }
            Node::Bytes(form) => with_bytes(value, form.as_ref(), |bytes| write_sized(out, bytes)),
            Node::Text(None) => write_text(value, out),
            Node::Text(Some(form)) => form.with_text_of(value, |text| write_sized(out, text)),
            Node::Fixed(size, form) => with_bytes(value, form.as_ref(), |bytes| {
                if bytes.len() != *size {
                    return Err(Irregular::HERE);
                }
                out.extend_from_slice(bytes);
                Ok(())
            }),
            Node::Enum(symbols) => write_symbol(value, symbols, out),
            Node::Array(items) => self.write_array(*items, value, out, deeper(depth_left)?),
            Node::Map(values) => self.write_map(*values, value, out, deeper(depth_left)?),
            Node::Optional(optional) => self.write_optional(optional, value, out, depth_left),
            Node::Union(union) => self.write_union(union, value, out, depth_left),
            Node::Record(record) => self.write_record(record, value, out, deeper(depth_left)?),
            Node::Raw(form) => with_bytes(value, form.as_ref(), |bytes| {
                out.extend_from_slice(bytes);
                Ok(())
            }),
        }
    }

    fn write_array(
        &self,
        items: NodeNumber,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
        depth_left: u32,
    ) -> Outcome<()> {
        let list = value.cast_exact::<PyList>().or_irregular()?;
        let count = list.len();
        if count > 0 {
            write_size(out, count)?;
            let mut written = 0;
            for item in list {
                self.write(items, &item, out, depth_left)?;
                written += 1;
            }
            if written != count {
                return Err(Irregular::HERE); // the list has changed meanwhile
            }
        }
        out.push(END);
        Ok(())
    }

    fn write_map(
        &self,
        values: NodeNumber,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
        depth_left: u32,
    ) -> Outcome<()> {
        let entries = value.cast_exact::<PyDict>().or_irregular()?;
        if !entries.is_empty() {
            let entries = entries.copy()?; // a dict must not change while it is walked
            write_size(out, entries.len())?;
            for (key, item) in entries {
                write_text(&key, out)?;
                self.write(values, &item, out, depth_left)?;
            }
        }
        out.push(END);
        Ok(())
    }

    fn write_optional(
        &self,
        optional: &Optional,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
        depth_left: u32,
    ) -> Outcome<()> {
        if value.is_none() {
            write_long(out, optional.null);
            return Ok(());
        }
        if let Some(choose) = &optional.choose
            && value.is_exact_instance_of::<PyTuple>()
        {
            let (_, inner): (usize, Bound<'_, PyAny>) = choose.bind(value.py()).call1((value,))?.extract()?;
            if inner.is_exact_instance_of::<PyTuple>() {
                return Err(Irregular::HERE);
            }
            return self.write_optional(optional, &inner, out, depth_left);
        }
        write_long(out, optional.other);
        self.write(optional.node, value, out, depth_left)
    }

    fn write_union(&self, union: &Union, value: &Bound<'_, PyAny>, out: &mut Vec<u8>, depth_left: u32) -> Outcome<()> {
        let python_type = value.get_type();
        if let Some((_, branch)) = union.by_type.iter().find(|(known, _)| python_type.is(known)) {
            return self.write_branch(union, *branch, value, out, depth_left);
        }
        let (branch, inner): (usize, Bound<'_, PyAny>) = union.choose.bind(value.py()).call1((value,))?.extract()?;
        self.write_branch(union, branch, &inner, out, depth_left)
    }

    fn write_branch(
        &self,
        union: &Union,
        branch: usize,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
        depth_left: u32,
    ) -> Outcome<()> {
        write_size(out, branch)?;
        self.write(*union.branches.get(branch).or_irregular()?, value, out, depth_left)
    }

    fn write_record(
        &self,
        record: &Record,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
        depth_left: u32,
    ) -> Outcome<()> {
        let py = value.py();
        let entries = value.cast_exact::<PyDict>().or_irregular()?;
        let mut found = if record.is_plain { self.write_in_order(record, entries, out, depth_left)? } else { 0 };
        for field in record.fields.iter().skip(found) {
            if let Some(item) = entries.get_item(&field.name)? {
                found += 1;
                self.write(field.node, &item, out, depth_left)?;
            } else {
                self.write(field.node, field.default.as_ref().or_irregular()?.bind(py), out, depth_left)?;
            }
        }
        if record.is_strict && found < entries.len() {
            return Err(Irregular::HERE);
        }
        Ok(())
    }

    /// Write the fields from the first on whose keys are in the same order in the dict; return how many these are.
    ///
    /// This takes no look-ups. No code of Python runs meanwhile, since the fields are plain.
    fn write_in_order(
        &self,
        record: &Record,
        entries: &Bound<'_, PyDict>,
        out: &mut Vec<u8>,
        depth_left: u32,
    ) -> Outcome<usize> {
        let written = Cell::new(Ok(0));
        let out = RefCell::new(out);
        let is_ended = Cell::new(false);
        entries.locked_for_each(|key, item| {
            if is_ended.get() {
                return Ok(());
            }
            if let Ok(count) = written.replace(Err(Irregular::HERE)) {
                if let Some(field) = record.fields.get(count).filter(|field| key.is(&field.name)) {
                    let done = self.write(field.node, &item, &mut out.borrow_mut(), depth_left);
                    is_ended.set(done.is_err());
                    written.set(done.map(|()| count + 1));
                } else {
                    is_ended.set(true);
                    written.set(Ok(count));
                }
            }
            Ok(())
        })?;
        written.into_inner()
    }
}

fn deeper(depth_left: u32) -> Outcome<u32> {
    depth_left.checked_sub(1).or_irregular()
}

#[inline]
fn number(value: &Bound<'_, PyAny>, form: Option<&Conversion>) -> Outcome<i64> {
    match form {
        None => Ok(value.cast_exact::<PyInt>().or_irregular()?.extract()?),
        Some(form) => form.number_of(value),
    }
}

#[inline]
fn real(value: &Bound<'_, PyAny>, first_doubtful: f64) -> Outcome<f64> {
    if let Ok(real) = value.cast_exact::<PyFloat>() {
        return Ok(real.value());
    }
    let whole: f64 = value.cast_exact::<PyInt>().or_irregular()?.extract()?;
    if whole.abs() >= first_doubtful {
        return Err(Irregular::HERE); // perhaps between two numbers of the type
    }
    Ok(whole)
}

fn write_float(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Outcome<()> {
    let wide = real(value, DOUBTFUL_FLOAT)?;
    #[expect(clippy::cast_possible_truncation, reason = "a float is the nearest of its numbers")]
    let narrow = wide as f32;
    if narrow.is_infinite() && wide.is_finite() {
        return Err(Irregular::HERE);
    }
    out.extend_from_slice(&narrow.to_le_bytes());
    Ok(())
}

#[inline]
fn write_text(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Outcome<()> {
    write_sized(out, value.cast::<PyString>().or_irregular()?.to_str()?.as_bytes())
}

fn with_bytes<T>(
    value: &Bound<'_, PyAny>,
    form: Option<&Conversion>,
    write: impl FnOnce(&[u8]) -> Outcome<T>,
) -> Outcome<T> {
    match form {
        None => write(value.cast_exact::<PyBytes>().or_irregular()?.as_bytes()),
        Some(form) => form.with_bytes_of(value, write),
    }
}

fn write_symbol(value: &Bound<'_, PyAny>, symbols: &[Py<PyString>], out: &mut Vec<u8>) -> Outcome<()> {
    let py = value.py();
    if let Some(place) = symbols.iter().position(|symbol| value.is(symbol)) {
        return write_size(out, place);
    }
    let text = value.cast::<PyString>().or_irregular()?.to_str()?;
    for (place, symbol) in symbols.iter().enumerate() {
        if symbol.bind(py).to_str()? == text {
            return write_size(out, place);
        }
    }
    Err(Irregular::HERE)
}

/// Mark the records all of whose fields are plain.
fn find_plain(nodes: &mut [Node]) {
    let plain: Vec<bool> = nodes.iter().map(Node::is_plain).collect();
    let is_plain = |node: NodeNumber| plain.get(node).copied().unwrap_or(false);
    let optional: Vec<bool> = nodes
        .iter()
        .map(|node| matches!(node, Node::Optional(one) if one.choose.is_none() && is_plain(one.node)))
        .collect();
    for node in nodes {
        if let Node::Record(record) = node {
            record.is_plain = record
                .fields
                .iter()
                .all(|field| is_plain(field.node) || optional.get(field.node).copied().unwrap_or(false));
        }
    }
}

impl Node {
    /// Whether a value is written without calling code of Python, whatever it is.
    fn is_plain(&self) -> bool {
        match self {
            Self::Null | Self::Boolean | Self::Float | Self::Double | Self::Enum(_) => true,
            Self::Int(form) | Self::Long(form) | Self::Bytes(form) | Self::Text(form) | Self::Fixed(_, form) => {
                form.is_none()
            }
            _ => false,
        }
    }

    fn read(node: &Bound<'_, PyTuple>, count: usize) -> PyResult<Self> {
        let kind: String = part(node, 0)?;
        Ok(match kind.as_str() {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "int" => Self::Int(conversion(node, 1)?),
            "long" => Self::Long(conversion(node, 1)?),
            "float" => Self::Float,
            "double" => Self::Double,
            "bytes" => Self::Bytes(conversion(node, 1)?),
            "text" => Self::Text(conversion(node, 1)?),
            "fixed" => Self::Fixed(part(node, 1)?, conversion(node, 2)?),
            "enum" => Self::Enum(part(node, 1)?),
            "array" => Self::Array(checked(part(node, 1)?, count)?),
            "map" => Self::Map(checked(part(node, 1)?, count)?),
            "optional" => {
                let null: i64 = part(node, 1)?;
                let number = checked(part(node, 2)?, count)?;
                Self::Optional(Optional { null, other: 1 - null, node: number, choose: part(node, 3)? })
            }
            "union" => {
                let branches: Vec<NodeNumber> = part(node, 1)?;
                let branches = branches.into_iter().map(|one| checked(one, count)).collect::<PyResult<_>>()?;
                Self::Union(Union { branches, by_type: part(node, 2)?, choose: part(node, 3)? })
            }
            "record" => Self::Record(Record::read(node, count)?),
            "raw bytes" => Self::Raw(conversion(node, 1)?),
            other => return Err(unknown("step", other)),
        })
    }
}

impl Record {
    fn read(node: &Bound<'_, PyTuple>, count: usize) -> PyResult<Self> {
        let fields: Vec<(Py<PyString>, NodeNumber, bool, Py<PyAny>)> = part(node, 1)?;
        let fields = fields
            .into_iter()
            .map(|(name, node, has_default, default)| {
                Ok(Field { name, node: checked(node, count)?, default: has_default.then_some(default) })
            })
            .collect::<PyResult<_>>()?;
        Ok(Self { fields, is_strict: part(node, 2)?, is_plain: false })
    }
}
