/** The formats of ajv-formats, in full mode, that contracts may use. */
export const SCHEMA_FORMATS = [
  'date',
  'time',
  'date-time',
  'duration',
  'uri',
  'uri-reference',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
  'json-pointer',
  'byte',
] as const
