// Sums up a table with types; needs no package.
//   abx upload ID examples/report.ts /app/report.ts && abx exec ID -- ts-node report.ts
interface Sale {
  product: string;
  amount: number;
}

const sales: Sale[] = [
  { product: "tea", amount: 3 },
  { product: "coffee", amount: 5 },
  { product: "tea", amount: 4 },
];

const totals = new Map<string, number>();
for (const { product, amount } of sales) {
  totals.set(product, (totals.get(product) ?? 0) + amount);
}
for (const [product, total] of totals) {
  console.log(`${product.padEnd(8)}${total}`);
}
