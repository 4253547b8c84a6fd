# Central traffic of gperftools' thread caches, counted and predicted: `gnuplot percpu-gperftools.gp` in this folder.
# Columns: workload, thread cache MiB, then calls in, objects in, calls out, objects out: counted, and predicted.
$runs << END
burst 3 35575 279733 69317 279217 34666 282849 69403 282333
burst 4 31036 259115 51164 258403 30124 263256 51287 262512
burst 6 23980 219281 33053 218430 23271 223072 33081 222239
burst 8 19154 182724 24358 181548 18941 188699 24548 187516
burst 16 13272 127071 16060 125215 13148 128815 16096 126949
burst 32 13272 127071 16060 125215 13148 128815 16096 126949
ring 3 64990 494549 235431 494543 62521 506105 235982 506097
ring 4 61022 478880 211199 478874 58892 492132 212648 492124
ring 6 56076 451695 163813 451689 53801 465759 165233 465751
ring 8 50588 416941 123756 416935 48505 434745 125008 434737
ring 16 34662 307774 57725 307768 33478 321557 58438 321549
ring 32 24784 223213 35517 223207 24031 227629 35449 227621
server 3 35768 421059 120728 421053 35746 415321 120641 415313
server 4 27122 294885 82500 294879 27153 292118 82359 292110
server 6 21523 220169 58685 220163 21507 222579 59332 222571
server 8 15074 137766 33120 137760 15088 137562 33151 137554
server 16 10405 79609 15551 79603 10400 79963 15591 79955
server 32 10043 75403 14192 75397 9996 75929 14213 75921
END
set terminal pngcairo noenhanced size 1100,420 font 'DejaVu Sans,10' background rgb 'white'
set output 'percpu-gperftools.png'
set border 3 lc rgb '#999999' lw 0.8
set tics nomirror out scale 0.5 textcolor rgb '#333333'
set grid y lt 1 lc rgb '#e6e6e6' lw 0.6
set logscale xy 2
set xrange [2.6:37]
set yrange [4096:1048576]
set xtics (3, 4, 6, 8, 16, 32)
set ytics ("4k" 4096, "16k" 16384, "64k" 65536, "256k" 262144, "1M" 1048576)
set xlabel 'thread cache, MiB' textcolor rgb '#333333'
set key left bottom samplen 1.5
set label 1 'Central lists of gperftools 2.10: counted (points), and predicted from the trace (lines)' at screen 0.02,0.965 font ',12'
set multiplot layout 1,3 margins 0.05,0.98,0.17,0.85 spacing 0.06
do for [w in "burst ring server"] {
	set title w offset 0,-0.6
	plot $runs using (strcol(1) eq w ? $2 : NaN):8 with lines lc rgb '#56B4E9' lw 1.5 title 'objects fetched', \
	     $runs using (strcol(1) eq w ? $2 : NaN):4 with points lc rgb '#0072B2' pt 7 ps 1.1 notitle, \
	     $runs using (strcol(1) eq w ? $2 : NaN):7 with lines lc rgb '#E69F00' lw 1.5 title 'fetches', \
	     $runs using (strcol(1) eq w ? $2 : NaN):3 with points lc rgb '#D55E00' pt 7 ps 1.1 notitle, \
	     $runs using (strcol(1) eq w ? $2 : NaN):9 with lines lc rgb '#8fd3bd' lw 1.5 title 'releases', \
	     $runs using (strcol(1) eq w ? $2 : NaN):5 with points lc rgb '#009E73' pt 7 ps 1.1 notitle
	unset label 1
}
unset multiplot
