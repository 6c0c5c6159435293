/** Leaves joined by `all`, `any` and `not`. */
export type Tree<Leaf extends { readonly kind: 'leaf' }> =
  | { readonly kind: 'all' | 'any'; readonly items: readonly Tree<Leaf>[] }
  | { readonly kind: 'not'; readonly item: Tree<Leaf> }
  | Leaf

/** A tree, or undefined after a finding, of which nothing is left. */
export type Checked<Leaf extends { readonly kind: 'leaf' }> = Tree<Leaf> | undefined

/** Joins trees. Undefined when one of them has a finding; a single tree stays as it is. */
export function joined<Leaf extends { readonly kind: 'leaf' }>(
  kind: 'all' | 'any',
  items: readonly Checked<Leaf>[],
): Checked<Leaf> {
  const sound = items.filter((item) => item !== undefined)
  if (sound.length < items.length) return undefined
  return sound.length === 1 ? sound[0] : { kind, items: sound }
}

/** Returns the leaves, in order of appearance. */
export function leavesIn<Leaf extends { readonly kind: 'leaf' }>(node: Tree<Leaf>): readonly Leaf[] {
  if (node.kind === 'leaf') return [node]
  return node.kind === 'not' ? leavesIn(node.item) : node.items.flatMap((item) => leavesIn(item))
}

/** Returns the tree with another tree in the place of each leaf. */
export function mapLeaves<Leaf extends { readonly kind: 'leaf' }, Other extends { readonly kind: 'leaf' }>(
  node: Tree<Leaf>,
  change: (leaf: Leaf) => Tree<Other>,
): Tree<Other> {
  if (node.kind === 'leaf') return change(node)
  if (node.kind === 'not') return { kind: 'not', item: mapLeaves(node.item, change) }
  return {
    kind: node.kind,
    items: node.items.map((item) => mapLeaves(item, change)),
  }
}
