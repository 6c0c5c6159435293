import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import type { ImportResult } from '../../../src/policy/import/contract.ts'
import { importMcp } from '../../../src/policy/import/mcp.ts'
import { importOpenApi } from '../../../src/policy/import/openapi.ts'
import type { ToolContract } from '../../../src/policy/language/snapshot.ts'
import { growth, LINEAR } from '../../growth.ts'
import { bundle, diagnose, snapshotOf } from '../support.ts'
import { runs } from '../../runs.ts'

const options = { prefix: '' }
const mcp = (document: unknown, prefix = ''): ImportResult => {
  const result = importMcp(document as JsonValue, { prefix })
  if (!result) throw new Error('no list of tools')
  return result
}
const openApi = (paths: unknown, more: object = {}, version = '3.1.0'): ImportResult => {
  const document = { openapi: version, info: { title: 't', version: '1' }, paths, ...more }
  const result = importOpenApi(document as JsonValue, options)
  if (!result) throw new Error('no OpenAPI document')
  return result
}
/** The contracts as the gateway reads them: the result of an import always checks. */
async function contracts({ files }: ImportResult): Promise<readonly ToolContract[]> {
  const snapshot = await snapshotOf(bundle(Object.fromEntries(files.map(({ path, text }) => [path, text]))))
  return [...snapshot.tools.values()].filter(({ name }) => name !== 'pay')
}
const tool = (name: string, more: object = {}) => ({
  name,
  description: 'Does it.',
  inputSchema: { type: 'object' },
  ...more,
})

describe('importing from MCP', () => {
  it('creates one contract for each tool, with the effects of its annotations', async () => {
    const result = mcp({
      tools: [
        tool('read', { annotations: { readOnlyHint: true } }),
        tool('drop', { annotations: { destructiveHint: true } }),
        tool('edit', { annotations: { readOnlyHint: false, destructiveHint: false } }),
        tool('any'),
      ],
    })
    expect(result.notes).toEqual([])
    expect(
      (await contracts(result)).map(({ name, risk, reversibility }) => [name, risk, reversibility]),
    ).toEqual([
      ['any', 'high', undefined],
      ['drop', 'high', 'irreversible'],
      ['edit', 'medium', 'reversible'],
      ['read', 'low', 'read_only'],
    ])
    expect(result.files.find(({ path }) => path === 'tools/read.yaml')?.text).toContain(
      'suggestions (readOnlyHint)',
    )
  })

  it('reads the bare result, the JSON-RPC answer and the list itself, and nothing else', () => {
    const tools = [tool('a')]
    for (const document of [{ tools }, { jsonrpc: '2.0', id: 1, result: { tools } }, tools])
      expect(mcp(document).files.map(({ path }) => path)).toEqual(['tools/a.yaml'])
    for (const document of [{}, 'x', null, { result: {} }])
      expect(importMcp(document as JsonValue, options)).toBeUndefined()
  })

  it('makes names legal and notes it, and gives no two tools the same name or file', async () => {
    const result = mcp([
      tool('my tool!'),
      tool('my tool?'),
      tool('-x-'),
      tool('a/b'),
      tool('a:b'),
      tool('A_B'),
      tool('é'),
    ])
    expect((await contracts(result)).map(({ name }) => name)).toEqual([
      'A_B',
      'a/b',
      'a:b',
      'my_tool',
      'my_tool_2',
      'tool',
      'x',
    ])
    expect(result.notes.map(({ message }) => message)).toContain('`my tool?` is called `my_tool_2`')
    expect(new Set(result.files.map(({ path }) => path)).size).toBe(7)
    expect((await contracts(mcp([tool('issues')], 'github.'))).map(({ name }) => name)).toEqual([
      'github.issues',
    ])
  })

  it('keeps the schema, follows its references, and notes dropped keywords with their places', async () => {
    const inputSchema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'string', format: 'date-time', maxLength: 40 },
        odd: { type: 'string', format: 'color', pattern: '(?=x)', 'x-order': 1 },
        tree: { $ref: '#/definitions/node' },
        big: { type: 'integer', maximum: 2 ** 63 },
        far: { $ref: 'https://example.com/schema.json' },
      },
      definitions: { node: { type: 'object', properties: { next: { $ref: '#/definitions/node' } } } },
    }
    const result = mcp({ tools: [tool('a', { inputSchema })] })
    const [contract] = await contracts(result)
    expect(contract?.inputSchema).toEqual({
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'string', format: 'date-time', maxLength: 40 },
        odd: { type: 'string' },
        tree: { $ref: '#/$defs/node' },
        big: { type: 'integer' },
        far: {},
      },
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    })
    const at = (path: string): string => `/tools/0/inputSchema/properties/${path}`
    expect(result.notes.map(({ pointer }) => pointer)).toEqual([
      at('odd/format'),
      at('odd/pattern'),
      at('odd/x-order'),
      at('big/maximum'),
      at('big'),
      at('far/$ref'),
    ])
  })

  it('notes integers without bounds, wherever they are in a schema', () => {
    const properties = {
      id: { type: 'integer' },
      ids: { type: 'array', items: { type: ['integer', 'null'] } },
      shared: { $ref: '#/$defs/id' },
      count: { type: 'integer', minimum: 0 },
      kind: { type: 'integer', enum: [1, 2] },
      price: { type: 'number' },
    }
    const $defs = { id: { anyOf: [{ type: 'integer' }, { type: 'null' }] } }
    const { notes, files } = mcp({ tools: [tool('a', { inputSchema: { properties, $defs } })] })
    const at = '/tools/0/inputSchema'
    expect(files).toHaveLength(1)
    expect(notes.map(({ pointer }) => pointer)).toEqual([
      `${at}/properties/id`,
      `${at}/properties/ids/items`,
      `${at}/$defs/id/anyOf/0`,
    ])
    expect(new Set(notes.map(({ message }) => message)).size).toBe(1)
    expect(notes[0]?.message).toContain('an integer without bounds')
  })

  it('follows references to the whole schema, to percent-encoded names, and in long chains', async () => {
    const chain = Array.from({ length: 20_000 }, (_, n) => [`a${n}`, { $ref: `#/$defs/a${n + 1}` }])
    const result = mcp({
      tools: [
        tool('tree', { inputSchema: { type: 'object', properties: { kids: { items: { $ref: '#' } } } } }),
        tool('encoded', {
          inputSchema: {
            properties: { a: { $ref: '#/$defs/A%20b~1c' } },
            $defs: { 'A b/c': { type: 'number' }, '100%': {} },
          },
        }),
        tool('circle', { inputSchema: { $ref: '#' } }),
        tool('chain', { inputSchema: { $ref: '#/$defs/a0', $defs: Object.fromEntries(chain) } }),
      ],
    })
    const found = await contracts(result)
    expect(found.map(({ inputSchema }) => inputSchema)).toEqual([
      {
        type: 'object',
        properties: { a: { $ref: '#/$defs/A_20b_1c' } },
        $defs: { A_20b_1c: { type: 'number' } },
      },
      {
        type: 'object',
        properties: { kids: { items: { $ref: '#/$defs/root' } } },
        $defs: { root: { type: 'object', properties: { kids: { items: { $ref: '#/$defs/root' } } } } },
      },
    ])
    expect(result.notes.filter(({ message }) => !message.startsWith('left out')).length).toBe(1)
  })

  it('drops keywords that would refuse more because a part of them was dropped', async () => {
    const odd = { type: 'string', pattern: '(?=x)' }
    const inputSchema = {
      $defs: { odd, user: { $ref: '#/$defs/odd' }, sound: { type: 'string', 'x-order': 1 } },
      properties: {
        not: { not: odd },
        if: { if: { $ref: '#/$defs/user' }, else: { maxLength: 2 } },
        one: { oneOf: [odd, { type: 'integer' }] },
        both: { oneOf: [{ $ref: '#/$defs/odd' }, { type: 'integer' }], anyOf: [{}] },
        many: { contains: odd, maxContains: 1 },
        rest: { properties: { a: {}, 'b\u200b': {} }, additionalProperties: false },
        left: { allOf: [{ properties: 5 }], unevaluatedProperties: false },
        kept: { oneOf: [{ $ref: '#/$defs/sound' }, { type: 'integer' }], not: { const: 1 } },
      },
    }
    const result = mcp({ tools: [tool('a', { inputSchema })] })
    const [contract] = await contracts(result)
    const text = { type: 'string' }
    const integer = { type: 'integer' }
    expect(contract?.inputSchema).toEqual({
      type: 'object',
      properties: {
        not: {},
        if: {},
        one: { anyOf: [text, integer] },
        both: { anyOf: [{}], allOf: [{ anyOf: [{ $ref: '#/$defs/odd' }, integer] }] },
        many: { contains: text },
        rest: { properties: { a: {} } },
        left: { allOf: [{}] },
        kept: { oneOf: [{ $ref: '#/$defs/sound' }, integer], not: { const: 1 } },
      },
      $defs: { odd: text, user: { $ref: '#/$defs/odd' }, sound: text },
    })
    const at = '/tools/0/inputSchema/properties/'
    expect(result.notes.map(({ pointer }) => pointer)).toEqual(
      expect.arrayContaining(
        [
          'not/not',
          'if/if',
          'one/oneOf',
          'both/oneOf',
          'many/maxContains',
          'rest/additionalProperties',
          'left/unevaluatedProperties',
        ].map((place) => `${at}${place}`),
      ),
    )
  })

  it('shows what a description hides', async () => {
    const [contract] = await contracts(mcp([tool('a', { description: 'Safe\u200b\u202e tool' })]))
    expect(contract?.description).toBe('Safe<U+200B><U+202E> tool')
  })

  it('notes a tool without a name, a list with more pages, and a contract with errors', () => {
    const deep = Array.from({ length: 40 }).reduce<object>((inner) => ({ properties: { a: inner } }), {})
    const result = mcp({
      tools: [{ description: 'x' }, tool('deep', { inputSchema: deep })],
      nextCursor: 'c',
    })
    expect(result.files).toEqual([])
    expect(result.notes.map(({ pointer, message }) => `${pointer} ${message.split(':')[0]}`)).toEqual([
      '/tools/0 left out',
      '/nextCursor this is only the first page of the list',
      '/tools/1 left out',
    ])
  })

  it('notes an invalid schema, and leaves out a tool that no call fits', () => {
    const none = [true, null, [], 'object', undefined].map((inputSchema, i) => tool(`t${i}`, { inputSchema }))
    const result = mcp({ tools: [tool('never', { inputSchema: false }), ...none] })
    expect(result.files.map(({ path }) => path)).toEqual(none.map(({ name }) => `tools/${name}.yaml`))
    expect(result.notes.map(({ pointer, message }) => `${pointer} ${message}`)).toEqual([
      '/tools/0 left out: its schema is `false`, which no call fits',
      ...none.map(
        (_, i) => `/tools/${i + 1}/inputSchema dropped: is no schema, so anything is accepted there`,
      ),
    ])
  })
})

describe('importing from OpenAPI', () => {
  const schema = { type: 'string' }

  it('creates one tool for each operation, with parameters by name and the body as `body`', async () => {
    const result = openApi(
      {
        '/pets/{id}': {
          parameters: [{ name: 'id', in: 'path', required: true, schema }],
          get: {
            operationId: 'getPet',
            summary: 'Read a pet.',
            parameters: [{ $ref: '#/components/parameters/page' }],
          },
          delete: { summary: 'Remove a pet.' },
        },
        '/pets': {
          post: {
            operationId: 'addPet',
            requestBody: {
              required: true,
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
            },
          },
        },
      },
      {
        components: {
          parameters: {
            page: { name: 'page', in: 'query', description: 'Which page.', schema: { type: 'integer' } },
          },
          schemas: { Pet: { type: 'object', properties: { parent: { $ref: '#/components/schemas/Pet' } } } },
        },
      },
    )
    const found = await contracts(result)
    expect(found.map(({ name, risk, reversibility }) => [name, risk, reversibility])).toEqual([
      ['addPet', 'medium', 'external'],
      ['delete/pets/_id', 'high', 'irreversible'],
      ['getPet', 'low', 'read_only'],
    ])
    expect(found[2]?.inputSchema).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['id'],
      properties: { id: schema, page: { type: 'integer', description: 'Which page.' } },
    })
    expect(found[0]?.inputSchema).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['body'],
      properties: { body: { $ref: '#/$defs/Pet' } },
      $defs: { Pet: { type: 'object', properties: { parent: { $ref: '#/$defs/Pet' } } } },
    })
  })

  it('reads the keywords that only OpenAPI 3.0 has', async () => {
    const parameter = (name: string, one: object) => ({ name, in: 'query', schema: one })
    const parameters = [
      parameter('a', { type: 'string', nullable: true, enum: ['x'] }),
      parameter('b', {
        type: 'number',
        minimum: 1,
        exclusiveMinimum: true,
        maximum: 5,
        exclusiveMaximum: false,
      }),
    ]
    const [contract] = await contracts(openApi({ '/x': { get: { parameters } } }, {}, '3.0.3'))
    expect(contract?.inputSchema['properties']).toEqual({
      a: { type: ['string', 'null'], enum: ['x', null] },
      b: { type: 'number', exclusiveMinimum: 1, maximum: 5 },
    })
  })

  it('distinguishes parameters of the same name, and notes dropped keywords with their places', async () => {
    const parameters = [
      { name: 'id', in: 'path', schema },
      { name: 'id', in: 'query', schema: { type: 'string', format: 'int-id' } },
      { name: 'body', in: 'query', schema: { type: 'string', xml: {} } },
    ]
    const requestBody = {
      content: { 'multipart/form-data': { schema: { type: 'object', discriminator: {} } } },
    }
    const result = openApi({ '/x': { post: { parameters, requestBody } } })
    const [contract] = await contracts(result)
    expect(Object.keys(contract?.inputSchema['properties'] as object)).toEqual([
      'id',
      'query_id',
      'query_body',
      'body',
    ])
    expect(result.notes.map(({ pointer }) => pointer)).toEqual([
      '/paths/~1x/post/requestBody',
      '/paths/~1x/post/parameters/1/schema/format',
      '/paths/~1x/post/parameters/2/schema/xml',
      '/paths/~1x/post/requestBody/content/multipart~1form-data/schema/discriminator',
    ])
  })

  it('finds operations and bodies behind references, and notes those that lead nowhere', async () => {
    const requestBodies = {
      A: { $ref: '#/components/requestBodies/B' },
      B: { required: true, content: { 'application/json': { schema } } },
      C: { $ref: '#/components/requestBodies/C' },
    }
    const requestBody = { $ref: '#/components/requestBodies/A' }
    const result = openApi(
      {
        '/a': { $ref: '#/components/pathItems/a', parameters: [{ name: 'q', in: 'query', schema }] },
        '/b': { $ref: 'https://elsewhere.example/b.json' },
        '/c': { put: { operationId: 'c', requestBody: { $ref: '#/components/requestBodies/C' } } },
      },
      { components: { requestBodies, pathItems: { a: { post: { operationId: 'a', requestBody } } } } },
    )
    const found = await contracts(result)
    expect(found.map(({ name, inputSchema }) => [name, inputSchema['properties']])).toEqual([
      ['a', { q: schema, body: schema }],
      ['c', {}],
    ])
    expect(result.notes.map(({ pointer }) => pointer)).toEqual(['/paths/~1b', '/paths/~1c/put/requestBody'])
  })

  it('ignores the headers that OpenAPI says to ignore, and loses no other parameter', async () => {
    const parameters = [
      ...['Authorization', 'accept', 'Content-Type'].map((name) => ({
        name,
        in: 'header',
        required: true,
        schema,
      })),
      { name: 'id', in: 'path', schema },
      { name: 'query_id', in: 'header', schema },
      { name: 'id', in: 'query', schema },
      { name: 'accept', in: 'query', schema },
    ]
    const [contract] = await contracts(openApi({ '/x': { get: { parameters } } }))
    expect(Object.keys(contract?.inputSchema['properties'] as object)).toEqual([
      'id',
      'query_id',
      'query_id_2',
      'accept',
    ])
    expect(contract?.inputSchema['required']).toBeUndefined()
    const proto = openApi({ '/x': { get: { parameters: [{ name: '__proto__', in: 'query', schema }] } } })
    expect(proto.files).toEqual([])
    expect(proto.notes[0]?.message).toContain('left out')
  })

  it('is not for other documents', () => {
    for (const document of [{ swagger: '2.0' }, { openapi: '4.0.0' }, [], null])
      expect(importOpenApi(document as JsonValue, options)).toBeUndefined()
  })
})

describe('importing from OpenAPI with references', () => {
  const file = (files: Record<string, unknown>) => (path: string) => files[path] as JsonValue | undefined
  const schemaOf = async (result: ImportResult | undefined, name: string) =>
    (await contracts(result as ImportResult)).find((one) => one.name === name)?.inputSchema
  const whole = (paths: unknown, files: Record<string, unknown> = {}, more: object = {}) =>
    importOpenApi({ openapi: '3.0.0', paths, ...more } as unknown as JsonValue, {
      prefix: '',
      load: file(files),
    })

  it('follows references of operations inside the document', async () => {
    const result = whole(
      { '/v2/droplets': { post: { $ref: '#/components/x-operations/create' } } },
      {},
      {
        components: {
          'x-operations': {
            create: {
              operationId: 'createDroplet',
              parameters: [{ name: 'size', in: 'query', required: true, schema: { type: 'string' } }],
            },
          },
        },
      },
    )
    expect(await schemaOf(result, 'createDroplet')).toMatchObject({
      additionalProperties: false,
      required: ['size'],
      properties: { size: { type: 'string' } },
    })
  })

  it('follows references of operations, path items, parameters, bodies and schemas into files beside it, and back', async () => {
    const result = whole(
      {
        '/a': { post: { $ref: 'resources/a/create.yml' } },
        '/b': { $ref: './resources/b.yml' },
      },
      {
        'resources/a/create.yml': {
          operationId: 'createA',
          parameters: [{ $ref: '../../parameters.yml#/id' }],
          requestBody: { $ref: '../bodies.yml#/create' },
        },
        'parameters.yml': {
          id: { name: 'id', in: 'path', required: true, schema: { $ref: '#/text' } },
          text: { type: 'string' },
        },
        'resources/bodies.yml': {
          create: { content: { 'application/json': { schema: { $ref: 'schemas%2Fa.yml' } } } },
        },
        'resources/schemas/a.yml': {
          type: 'object',
          properties: { self: { $ref: 'a.yml' }, default: { $ref: '../../parameters.yml#/text' } },
        },
        'resources/b.yml': { get: { operationId: 'readB' } },
      },
    )
    expect(result?.notes).toEqual([])
    expect((await contracts(result as ImportResult)).map(({ name }) => name)).toEqual(['createA', 'readB'])
    const schema = await schemaOf(result, 'createA')
    expect(schema).toMatchObject({ additionalProperties: false, required: ['id'] })
    expect(JSON.stringify(schema)).toContain('"default":{"$ref":"#/$defs/text"}')
  })

  it.each([
    '../outside.yml',
    '/etc/passwd',
    'https://x.example/a.yml',
    'file:///etc/passwd',
    '..\\\\x.yml',
    'gone.yml',
  ])('never reads %s: an operation there is left out', (ref) => {
    const asked: string[] = []
    const document = { openapi: '3.0.0', paths: { '/a': { get: { $ref: ref } } } }
    const result = importOpenApi(document as unknown as JsonValue, {
      prefix: '',
      load: (path) => {
        asked.push(path)
        return undefined
      },
    })
    expect(result?.files).toEqual([])
    expect(result?.notes.map(({ leftOut }) => leftOut).filter((one) => one !== undefined)).toEqual(['get /a'])
    expect(asked).toEqual(ref === 'gone.yml' ? ['gone.yml'] : [])
  })

  it.each([
    ['a parameter', { parameters: [{ $ref: 'gone.yml#/id' }] }],
    ['a body', { requestBody: { $ref: 'gone.yml#/reason' } }],
  ])('leaves a contract open where %s cannot be found', async (_, operation) => {
    const result = whole({ '/a/{id}': { delete: { operationId: 'deleteA', ...operation } } })
    const schema = await schemaOf(result, 'deleteA')
    expect(schema).toEqual({ type: 'object', properties: {} })
    expect(result?.notes[0]?.message).toContain('leads nowhere')
  })

  it('creates an enumeration from constants only, regardless of their number', async () => {
    const constants = Array.from({ length: 65 }, (_, n) => ({ title: `A${n}`, const: n }))
    const result = whole({
      '/x': {
        get: {
          operationId: 'x',
          parameters: [
            { name: 'many', in: 'query', schema: { oneOf: constants } },
            {
              name: 'typed',
              in: 'query',
              schema: { anyOf: [{ type: 'integer', const: 1 }, { enum: ['a'] }] },
            },
            { name: 'more', in: 'query', schema: { oneOf: [{ const: 1 }, { type: 'string' }] } },
            { name: 'odd', in: 'query', schema: { oneOf: [{ type: 'string', const: 1 }] } },
          ],
        },
      },
    })
    expect(await schemaOf(result, 'x')).toMatchObject({
      properties: {
        many: { enum: Array.from({ length: 65 }, (_, n) => n) },
        typed: { enum: [1, 'a'] },
        more: { oneOf: [{ const: 1 }, { type: 'string' }] },
        odd: { oneOf: [{ type: 'string', const: 1 }] },
      },
    })
  })

  it('reads Swagger 2.0: types in parameters, bodies and forms', async () => {
    const result = importOpenApi(
      {
        swagger: '2.0',
        parameters: { id: { name: 'id', in: 'path', required: true, type: 'string' } },
        definitions: { Note: { type: 'object', properties: { text: { type: 'string' } } } },
        paths: {
          '/a/{id}': {
            parameters: [{ $ref: '#/parameters/id' }],
            put: {
              operationId: 'put',
              parameters: [
                { name: 'note', in: 'body', required: true, schema: { $ref: '#/definitions/Note' } },
                {
                  name: 'tags',
                  in: 'query',
                  type: 'array',
                  items: { type: 'string' },
                  collectionFormat: 'csv',
                },
              ],
            },
            post: {
              operationId: 'post',
              parameters: [
                { name: 'n', in: 'formData', required: true, type: 'integer', minimum: 1 },
                { name: 'file', in: 'formData', type: 'file' },
              ],
            },
          },
        },
      } as unknown as JsonValue,
      options,
    )
    expect(await schemaOf(result, 'put')).toMatchObject({
      additionalProperties: false,
      required: ['id', 'body'],
      properties: {
        id: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
        body: { $ref: '#/$defs/Note' },
      },
      $defs: { Note: { properties: { text: { type: 'string' } } } },
    })
    expect(await schemaOf(result, 'post')).toMatchObject({
      required: ['id', 'body'],
      properties: { body: { required: ['n'], properties: { n: { type: 'integer', minimum: 1 }, file: {} } } },
    })
  })

  it('reads OpenAPI 3.2: the method QUERY, methods of its own, and sequences of items', async () => {
    const body = { content: { 'application/jsonl': { itemSchema: { type: 'integer' } } } }
    const result = openApi(
      {
        '/a': {
          query: { operationId: 'ask', requestBody: body },
          additionalOperations: { COPY: { operationId: 'copy' } },
        },
      },
      {},
      '3.2.0',
    )
    expect((await contracts(result)).map(({ name }) => name)).toEqual(['ask', 'copy'])
    expect(await schemaOf(result, 'ask')).toMatchObject({
      properties: { body: { type: 'array', items: { type: 'integer' } } },
    })
  })
})

describe('any imported document', () => {
  it('names definitions of the same name differently, in time linear in the document', () => {
    const schemaOf = (count: number): object => {
      const each = Array.from({ length: count }, (_, index) => `d${index}`)
      const members = (value: (name: string) => object): object =>
        Object.fromEntries(each.map((name) => [name, value(name)]))
      return {
        type: 'object',
        properties: members((name) => ({ $ref: `#/$defs/${name}/items` })),
        $defs: members(() => ({ items: { type: 'string' } })),
      }
    }
    const look = (count: number): unknown =>
      mcp({ tools: [{ name: 't', description: 'd', inputSchema: schemaOf(count) }] })
    expect(JSON.stringify(look(3))).toContain('#/$defs/items_3')
    expect(growth(look, 200)).toBeLessThan(LINEAR)
  })

  it('never writes a file that the gateway would refuse', async () => {
    const word = fc.constantFrom(
      'type',
      'properties',
      'items',
      '$ref',
      'enum',
      'pattern',
      'format',
      'required',
      'x',
      'allOf',
      'const',
      'minimum',
      '__proto__',
      'nullable',
    )
    const leaf = fc.oneof(
      fc.string(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom('object', 'string', '#/properties/x', 'date'),
    )
    const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.dictionary(word, tie('schema'), { maxKeys: 4 }),
        fc.array(tie('schema'), { maxLength: 3 }),
      ),
    }))
    let files = 0
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), schema, async (name, description, inputSchema) => {
        const result = mcp(JSON.parse(JSON.stringify({ tools: [{ name, description, inputSchema }] })))
        files += result.files.length
        const found = await diagnose(
          bundle(Object.fromEntries(result.files.map(({ path, text }) => [path, text]))),
        )
        expect(found.filter(({ severity }) => severity === 'error')).toEqual([])
      }),
      { numRuns: runs(1_000) },
    )
    expect(files).toBeGreaterThan(runs(500))
  })

  it('is never stricter: a payload that fits the description fits the contract', async () => {
    const names = ['a', 'b', 'c']
    const leaf = fc.constantFrom<object>(
      { pattern: '^(?=a)' },
      { pattern: '^a' },
      { type: 'string' },
      { type: 'array' },
      { const: 'a' },
      { enum: ['a', 'b'] },
      { $ref: '#/$defs/a' },
      { $ref: '#/$defs/b' },
      { type: 'object', required: ['a'] },
    )
    const { schema } = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        fc.record({ not: tie('schema') }),
        fc.tuple(tie('schema'), tie('schema')).map(([one, two]) => ({ if: one, else: two })),
        ...['oneOf', 'anyOf', 'allOf'].map((keyword) =>
          fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((list) => ({ [keyword]: list })),
        ),
        fc.tuple(tie('schema'), tie('schema')).map(([one, two]) => ({ oneOf: [one], anyOf: [two] })),
        fc.record({ contains: tie('schema'), maxContains: fc.constant(1) }),
        fc.tuple(tie('schema'), tie('schema')).map(([one, two]) => ({
          allOf: [{ properties: { a: one } }, two],
          unevaluatedProperties: false,
        })),
      ),
    }))
    const text = fc.constantFrom('a', 'b', 'ab', 'ba')
    const value = fc.oneof(
      text,
      fc.array(text, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names), text),
    )
    let [fitting, loosened] = [0, 0]
    await fc.assert(
      fc.asyncProperty(
        schema,
        leaf,
        fc.array(value, { minLength: 5, maxLength: 10 }),
        async (one, b, values) => {
          const $defs = { a: { pattern: '^(?=a)' }, b: '$ref' in b ? { $ref: '#/$defs/a' } : b }
          const inputSchema = { type: 'object', properties: { x: one }, $defs }
          const result = mcp({ tools: [tool('a', { inputSchema })] })
          const [contract] = await contracts(result)
          if (!contract) return
          loosened += Number(
            result.notes.some(({ message }) => /something|the dropped part|another keyword/.test(message)),
          )
          const ajv = new Ajv2020({ strict: false })
          const [before, after] = [ajv.compile(inputSchema), ajv.compile(contract.inputSchema)]
          for (const x of values.filter((each) => before({ x: each }))) {
            fitting++
            expect([x, after({ x })]).toEqual([x, true])
          }
        },
      ),
      { numRuns: runs(500) },
    )
    expect(fitting).toBeGreaterThan(runs(500))
    expect(loosened).toBeGreaterThan(runs(50))
  })
})
