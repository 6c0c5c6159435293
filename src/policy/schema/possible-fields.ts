import type { JsonValue } from '../../contract/json.ts'
import { fieldText } from '../language/fields.ts'
import { FUNCTIONS, type TextForm } from '../language/functions.ts'
import {
  type EntryFunction,
  type FunctionName,
  givesEntries,
  givesList,
  isClauseFunction,
  type ListFunction,
} from '../language/function-names.ts'
import { FACTS, type Fact } from '../language/facts.ts'
import { MISSING } from '../language/reading.ts'
import type { FieldIr } from '../language/rule.ts'
import { literalValues, schemaValues } from './values.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { ANY_READING, hasReadable, join, NO_VALUES, once, type Lists, type Values } from './possible.ts'
import { remember } from '../language/remember.ts'

/** The possible values of a bundle's fields. Each field is looked up once per contract. */
export interface FieldValues {
  /**
   * Returns the values after the function, but before `missing_means` and defaults. Tools with equal schemas share the
   * values of payload fields.
   */
  of(tool: ToolContract, field: FieldIr): Values
}

export function createFieldValues(): FieldValues {
  const bySchema = new Map<string, Map<string, Values>>()
  const byTool = new WeakMap<ToolContract, ValuesOfTool>()

  return {
    of(tool, field) {
      const { payload, facts } = remember(byTool, tool, () => ({
        payload: remember(bySchema, JSON.stringify(tool.inputSchema), () => new Map()),
        facts: new Map(),
      }))
      const known = field.root === 'payload' ? payload : facts
      const key = field.fn === undefined ? field.name : fieldText(field)
      return remember(known, key, () => valuesOf(tool, field))
    },
  }
}

interface ValuesOfTool {
  readonly payload: Map<string, Values>
  readonly facts: Map<string, Values>
}

function valuesOf(tool: ToolContract, field: FieldIr): Values {
  const plain =
    field.root === 'payload'
      ? schemaValues(tool.inputSchema, field.path)
      : valuesOfFact(tool, FACTS[field.root])
  return field.fn === undefined ? plain : applied(field.fn, plain)
}

function valuesOfFact(tool: ToolContract, fact: Fact): Values {
  if (fact.put === 'by the contract') {
    const value = fact.read({ tool })
    return value === MISSING ? { ...NO_VALUES, missing: true } : literalValues([value as JsonValue])
  }
  const required = fact.optional ? [] : ['fact']
  return schemaValues({ type: 'object', required, properties: { fact: fact.schema } }, ['fact'])
}

/** Returns every value that any contract allows. */
export function unconstrained(fn: FunctionName | undefined): Values {
  return fn === undefined ? ANY_READING : applied(fn, ANY_READING)
}

/**
 * Returns the values after the function. Strings change, and `null` represents all other values, which are unreadable.
 */
function applied(fn: FunctionName, values: Values): Values {
  const { missing, blocked, texts, lists } = values
  const unreadable =
    values.null ||
    hasReadable({ ...values, lists: undefined }) ||
    // An entry may be unreadable, which makes the length of the list unknown.
    (givesList(fn) && lists !== undefined && lists.max > 0)
  const readable = texts === undefined ? NO_VALUES : givesList(fn) ? entriesOf(fn) : resultsOf(fn)
  const ofList = lists && { ...NO_VALUES, lists: appliedList(fn, lists) }
  return { ...(ofList ? join(readable, ofList) : readable), missing, blocked, null: unreadable }
}

function appliedList(fn: FunctionName, { min, max, element }: Lists): Lists {
  if (!givesList(fn)) return { min, max, element: once(() => elementThrough(fn, element())) }
  const part = (): Values => ({ ...entryOf(fn), null: true })
  return {
    min: Math.min(min, FUNCTIONS[fn].fewest),
    max: max === 0 ? 0 : Number.POSITIVE_INFINITY,
    element: part,
  }
}

/** Returns the values of a list element after the function. A list inside a list is unreadable. */
function elementThrough(fn: Exclude<FunctionName, ListFunction | EntryFunction>, element: Values): Values {
  return { ...(element.texts === undefined ? NO_VALUES : resultsOf(fn)), null: true }
}

function resultsOf(fn: Exclude<FunctionName, ListFunction | EntryFunction>): Values {
  return isClauseFunction(fn) ? { ...NO_VALUES, booleans: [true, false] } : textsOf(FUNCTIONS[fn].form)
}

function entriesOf(fn: ListFunction | EntryFunction): Values {
  const lists = {
    min: FUNCTIONS[fn].fewest,
    max: Number.POSITIVE_INFINITY,
    element: () => entryOf(fn),
  }
  return { ...NO_VALUES, lists }
}

function entryOf(fn: ListFunction | EntryFunction): Values {
  return givesEntries(fn) ? { ...NO_VALUES, objects: true } : textsOf(FUNCTIONS[fn].form)
}

function textsOf(form: TextForm): Values {
  return { ...NO_VALUES, texts: { min: 1, max: Number.POSITIVE_INFINITY, forms: [form] } }
}
