//! The walk over a message, into columns.

use pyo3::prelude::*;

use super::column::Column;
use super::nested::{Map, Struct};
use crate::decoder::{Decoder, Node, Record};
use crate::message::Message;
use crate::nodes::NodeNumber;
use crate::outcome::{Irregular, OrIrregular, Outcome};

pub fn read(
    py: Python<'_>,
    decoder: &Decoder,
    node: NodeNumber,
    column: &mut Column,
    message: &mut Message<'_>,
) -> Outcome<()> {
    match (decoder.nodes.get(node).or_irregular()?, column) {
        (Node::Null, column) => column.push_null(),
        (Node::Boolean, Column::Boolean(bits, validity)) => {
            let bit = match message.array()? {
                [0] => false,
                [1] => true,
                _ => return Err(Irregular::HERE),
            };
            validity.push(true, bits.count);
            bits.push(bit);
            Ok(())
        }
        (Node::Int(form), Column::Number(column)) => column.push_integer(message.int()?, form.as_ref()),
        (Node::Long(form), Column::Number(column)) => column.push_integer(message.long()?, form.as_ref()),
        (Node::Float, Column::Number(column)) => column.push_real(f64::from(f32::from_le_bytes(message.array()?))),
        (Node::Double, Column::Number(column)) => column.push_real(f64::from_le_bytes(message.array()?)),
        (Node::Bytes(form), column) => column.push_bytes(message.sized()?, form.as_ref()),
        (Node::Text(form), column) => column.push_text(message.sized()?, form.as_ref()),
        (Node::Fixed(size, form), column) => column.push_bytes(message.take(*size)?, form.as_ref()),
        (Node::RawText(form), column) => column.push_text(message.take_rest(), form.as_ref()),
        (Node::RawBytes(form), column) => column.push_bytes(message.take_rest(), form.as_ref()),
        (Node::Enum(values), Column::Sized(column)) if column.is_text => {
            let value = values.get(message.size()?).or_irregular()?.as_ref().or_irregular()?;
            column.push(value.bind(py).to_str()?.as_bytes())
        }
        (Node::Union(branches), column) => {
            read(py, decoder, *branches.get(message.size()?).or_irregular()?, column, message)
        }
        (Node::Array(items, smallest), Column::List(column)) => {
            message.enter()?;
            loop {
                let count = message.block(*smallest, false)?;
                if count == 0 {
                    break;
                }
                for _ in 0..count {
                    read(py, decoder, *items, &mut column.items, message)?;
                }
            }
            message.leave();
            column.close()
        }
        (Node::Map(values), Column::Map(column)) => {
            message.enter()?;
            read_map(py, decoder, *values, column, message)?;
            message.leave();
            column.close()
        }
        (Node::Record(record), Column::Struct(column)) => {
            message.enter()?;
            read_record(py, decoder, record, column, message)?;
            message.leave();
            column.close();
            Ok(())
        }
        (Node::Record(record), Column::Union(column)) => {
            let [field] = record.fields.as_slice() else { return Err(Irregular::HERE) };
            read(py, decoder, field.node, column.branch(field.column.or_irregular()?)?, message)
        }
        _ => Err(Irregular::HERE),
    }
}

/// Read the entries of a map; of those with the same key the last one remains, as in a dict.
fn read_map(
    py: Python<'_>,
    decoder: &Decoder,
    values: NodeNumber,
    column: &mut Map,
    message: &mut Message<'_>,
) -> Outcome<()> {
    let mut seen: Vec<&[u8]> = Vec::new();
    loop {
        let count = message.block(1, false)?;
        if count == 0 {
            break;
        }
        for _ in 0..count {
            let key = message.sized()?;
            seen.push(key);
            column.keys.push_text(key, None)?;
            read(py, decoder, values, &mut column.values, message)?;
        }
    }
    seen.sort_unstable();
    if seen.windows(2).any(|pair| matches!(pair, [one, next] if one == next)) {
        return Err(Irregular::HERE);
    }
    Ok(())
}

fn read_record(
    py: Python<'_>,
    decoder: &Decoder,
    record: &Record,
    column: &mut Struct,
    message: &mut Message<'_>,
) -> Outcome<()> {
    message.weigh(record.unpaid)?;
    for field in &record.fields {
        match field.column {
            Some(number) => read(py, decoder, field.node, column.column(number)?, message)?,
            None => decoder.skip(field.node, message)?,
        }
    }
    for (number, default) in &record.filled {
        column.column(*number)?.push_value(default.bind(py))?;
    }
    Ok(())
}
